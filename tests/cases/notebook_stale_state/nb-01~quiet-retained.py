# title: Backward is run again over a graph that was kept
# kind: notebook_stale_state
# quiet: true

import torch
theta = torch.ones(3, requires_grad=True)
cost = (theta.exp() ** 2).sum()
# %%
theta.grad = None
cost.backward(retain_graph=True)
# %% rerun 2
