# title: Inner steps of meta-learning make new weights on purpose
# kind: leaf_rebound
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
def inner(fast, x):
    grad, = torch.autograd.grad((fast * x).square().sum(), fast, create_graph=True)
    return fast - 0.1 * grad
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(2):
    fast = w
    for _ in range(3):
        fast = inner(fast, torch.tensor([1., 2.]))
    opt.zero_grad()
    fast.sum().backward()
    opt.step()
assert w.grad is not None
