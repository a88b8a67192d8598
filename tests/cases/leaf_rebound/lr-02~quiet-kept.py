# title: A latent that is computed keeps its gradient, and moves by it, each time its cell runs
# kind: leaf_rebound
# quiet: true

import torch
code = torch.nn.Linear(2, 3)
z = code(torch.ones(1, 2)).detach().requires_grad_()
# %%
loss = (z ** 2).sum()
loss.backward()
z = (z - 0.1 * z.grad).detach().requires_grad_()
# %% rerun 2
