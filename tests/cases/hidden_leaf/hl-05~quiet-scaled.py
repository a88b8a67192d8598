# title: Scaled before the flag, detached, or wrapped as a parameter
# kind: hidden_leaf
# quiet: true

import torch
a = (0.01 * torch.rand(3)).requires_grad_()
b = torch.nn.Parameter(torch.randn(2, 2) / 2 ** 0.5)
c = (a * 2).detach().requires_grad_()
opt = torch.optim.AdamW([{"params": [a, b]}, {"params": [c], "lr": 0.1}])
for _ in range(2):
    opt.zero_grad()
    (a.sum() + b.square().sum() * c.prod()).backward()
    opt.step()
