# title: The same tensor is shown again and again, and parameters
# kind: memory_retention
# quiet: true

import torch
w = torch.ones(10, requires_grad=True)
loss = w.exp().sum()
# %%
loss
# %% rerun 2
# %% rerun 2
# %%
w
# %% rerun 3
# %% rerun 3
