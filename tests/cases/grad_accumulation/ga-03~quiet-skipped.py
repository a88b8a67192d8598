# title: Steps with a bad loss are left out: once by continue, once by a condition
# kind: grad_accumulation
# quiet: true

import torch
torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in (1.0, float("inf"), float("nan"), 2.0):
    loss = net(torch.full((3, 2), x)).mean()
    loss.backward()
    if not torch.isfinite(loss):
        opt.zero_grad()
        continue
    opt.step()
    opt.zero_grad()
# %%
for x in (1.0, 2.0, float("inf"), 2.0, 1.0, float("nan"), 0.5):
    opt.zero_grad()
    loss = net(torch.full((3, 2), x)).mean()
    loss.backward()
    if torch.isfinite(loss):
        opt.step()
