# title: The training cell shows its loss each time
# kind: memory_retention
# variable: mse
# says: Old `mse` tensors with graphs are held by Out.
# fix: mse.item()
# torch: no error, no warning

import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
# %%
opt.zero_grad()
out = net(torch.ones(4, 3))
mse = (out - 1).pow(2).mean()
mse.backward()
opt.step()
mse  #! cause
# %% rerun 2
# %% rerun 2
# %% rerun 2
# %%
len(Out)  #! symptom
