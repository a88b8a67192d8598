# title: The cell makes what it backpropagates
# kind: notebook_stale_state
# quiet: true

import torch
coef = torch.linspace(0, 1, 5, requires_grad=True)
# %%
coef.grad = None
energy = coef.pow(3).mean()
energy.backward()
coef.grad
# %% rerun 2
# %% rerun 2
