# title: After training the result becomes a leaf of its own, and its gradient is looked at
# kind: param_wiring
# quiet: true

import torch
w = torch.full((3,), 0.5, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(2):
    opt.zero_grad()
    ((w - 2) ** 2).sum().backward()
    opt.step()
w = w.detach().clamp(0, 1).requires_grad_(True)
((w - 2) ** 2).sum().backward()
print(w.grad)
