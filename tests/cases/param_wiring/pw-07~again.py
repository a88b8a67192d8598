# title: A tensor is made again after the optimizer
# kind: param_wiring
# variable: w
# says: `opt` has the older `w`; the one made later gets gradients that no optimizer uses.
# fix: make the optimizer after `w`

import torch
w = torch.zeros(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
w = torch.ones(2, requires_grad=True)  #! cause
for _ in range(3):
    opt.zero_grad()
    (w * w).sum().backward()
    opt.step()  #! symptom
# === fixed
import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    (w * w).sum().backward()
    opt.step()
# === check
assert w.grad is not None and bool((w < 1).all())
