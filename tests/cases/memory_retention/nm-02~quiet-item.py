# title: The last expression is a number
# kind: memory_retention
# quiet: true

import torch
w = torch.ones(10, requires_grad=True)
# %%
loss = (w.exp() ** 2).sum()
loss.item()
# %% rerun 2
# %% rerun 2
