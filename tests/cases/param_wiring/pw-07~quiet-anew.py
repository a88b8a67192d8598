# title: A weight is made anew in each round, and its optimizer with it
# kind: param_wiring
# quiet: true

import torch
w = torch.full((3,), 0.5, requires_grad=True)
for _ in range(4):
    opt = torch.optim.SGD([w], lr=0.1)
    opt.zero_grad()
    ((w - 2) ** 2).sum().backward()
    opt.step()
    w = w.detach().clamp(0, 1).requires_grad_(True)
