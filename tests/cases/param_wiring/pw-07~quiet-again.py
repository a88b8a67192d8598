# title: A tensor and its optimizer are both made again
# kind: param_wiring
# quiet: true

import torch
def fit(target):
    w = torch.zeros(2, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (w - target).square().sum().backward()
        opt.step()
    return w
w = torch.zeros(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
# %%
for _ in range(3):
    opt.zero_grad()
    (w * w).sum().backward()
    opt.step()
best = fit(w.detach())
