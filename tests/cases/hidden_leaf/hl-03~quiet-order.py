# title: Reshaped before the flag, in one line
# kind: hidden_leaf
# quiet: true

import torch
knots = torch.linspace(0, 1, 6).reshape(3, 2).requires_grad_()
w = torch.arange(4.).view(2, 2).t().contiguous().requires_grad_(True)
p = torch.nn.Parameter(torch.zeros(6).reshape(2, 3))
opt = torch.optim.SGD([knots, w, p], lr=0.1)
for _ in range(2):
    opt.zero_grad()
    (knots.sum() + w.sum() + p.sum()).backward()
    opt.step()
print(knots.grad, w.grad, p.grad)
