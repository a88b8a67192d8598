# title: The gradient of a computed latent is kept, and used for a step of it, in a cell run twice
# kind: leaf_rebound
# quiet: true

import torch
z = torch.ones(3, requires_grad=True)
# %%
h = z * 2
h.retain_grad()
(h ** 2).sum().backward()
h = h - 0.1 * h.grad
print(h)
z.grad = None
# %% rerun 2
