# title: A weight is clamped into a new leaf after each step; the optimizer keeps the first one
# kind: param_wiring
# variable: w
# says: opt has an older w; the one made later gets gradients that no optimizer uses.
# fix: with torch.no_grad(): w.copy_(w.detach().clamp(0, 1)), or w.clamp_(0, 1)

import torch
w = torch.full((3,), 0.5, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(4):
    opt.zero_grad()
    ((w - 2) ** 2).sum().backward()
    opt.step()  #! symptom
    w = w.detach().clamp(0, 1).requires_grad_(True)  #! cause

# === fixed
import torch
w = torch.full((3,), 0.5, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(4):
    opt.zero_grad()
    ((w - 2) ** 2).sum().backward()
    opt.step()
    with torch.no_grad():
        w.copy_(w.detach().clamp(0, 1))

# === check
assert w.tolist() == [1, 1, 1]
