# title: Batches are accumulated by running a cell again, before the optimizer's step
# kind: notebook_stale_state
# quiet: true

import torch
torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
opt.zero_grad()
net(torch.randn(4, 2)).pow(2).mean().backward()
opt.step()
opt.zero_grad()
# %%
net(torch.randn(4, 2)).pow(2).mean().backward()
# %% rerun 2
# %% rerun 2
# %%
opt.step()
opt.zero_grad()
