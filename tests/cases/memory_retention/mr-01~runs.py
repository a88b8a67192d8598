# title: A loss is summed up by a cell that is run again and again
# kind: memory_retention
# variable: total
# says: The graph of total grows with each run.
# fix: total += loss.item()

import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0
# %%
opt.zero_grad()
loss = net(torch.ones(4, 3)).pow(2).mean()
loss.backward()
opt.step()
total += loss  #! cause symptom
# %% rerun 2
# %% rerun 2

# === fixed
import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0
# %%
opt.zero_grad()
loss = net(torch.ones(4, 3)).pow(2).mean()
loss.backward()
opt.step()
total += loss.item()
# %% rerun 2
# %% rerun 2
