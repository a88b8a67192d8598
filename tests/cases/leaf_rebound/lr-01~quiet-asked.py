# title: Adapted weights by autograd.grad, made leaves again or returned
# kind: leaf_rebound
# quiet: true

import torch
def adapted(w, x):
    g, = torch.autograd.grad((w * x).pow(2).sum(), w)
    w = w - 0.1 * g
    return w
start = torch.ones(3, requires_grad=True)
(adapted(start, torch.ones(3)) ** 2).sum().backward()
a = torch.ones(3, requires_grad=True)
for _ in range(3):
    g, = torch.autograd.grad((a ** 2).sum(), a)
    with torch.no_grad():
        a = a - 0.1 * g
    a.requires_grad_()
