# title: A scaled leaf that has its own name
# kind: hidden_leaf
# quiet: true

import torch
raw = torch.zeros(3, requires_grad=True)
opt = torch.optim.SGD([raw], lr=0.5)
for _ in range(3):
    weight = raw * 0.01
    opt.zero_grad()
    (weight.exp().sum()).backward()
    opt.step()
assert raw.grad is not None
