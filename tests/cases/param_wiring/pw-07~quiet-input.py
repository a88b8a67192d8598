# title: An input whose gradient is wanted, beside a tensor that is trained
# kind: param_wiring
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
x = torch.zeros(2, requires_grad=True)
x = torch.ones(2, requires_grad=True)
for _ in range(2):
    opt.zero_grad()
    x.grad = None
    (w * x).sum().backward()
    opt.step()
slope = x.grad
# %%
x = torch.full((2,), 2.0, requires_grad=True)
(w.detach() * x).sum().backward()
