# title: A cell run again and again starts its sum anew, and detaches what it goes on from
# kind: memory_retention
# quiet: true

import torch
cell, x, state = torch.nn.GRUCell(2, 3), torch.ones(1, 2), torch.zeros(1, 3)
w, mean = torch.ones(2, requires_grad=True), torch.zeros(())
# %%
total = 0
for part in (1., 2.):
    total = total + (w * part).sum()
total.backward()
w.grad = None
state = cell(x, state.detach())
mean = 0.9 * mean + 0.1 * total.detach()
# %% rerun 2
# %% rerun 2
# %% rerun 2
