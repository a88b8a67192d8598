# title: Forward and backward cells are both run again
# kind: notebook_stale_state
# quiet: true

import torch
theta = torch.ones(3, requires_grad=True)
# %%
cost = (theta.exp() ** 2).sum()
# %%
theta.grad = None
cost.backward()
# %% rerun 2
# %% rerun 3
