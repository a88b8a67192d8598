# title: A bad loss is cleared away, and the step then does nothing on purpose
# kind: grad_accumulation
# quiet: true

import torch
w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.Adam([w], lr=0.1)
for x in (1.0, 2.0, float("nan"), 3.0):
    loss = (w * x).sum()
    loss.backward()
    if not torch.isfinite(loss):
        opt.zero_grad()
    opt.step()
    opt.zero_grad()
