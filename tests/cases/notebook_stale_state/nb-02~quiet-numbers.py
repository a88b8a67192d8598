# title: The cell that is run again only reads
# kind: notebook_stale_state
# quiet: true

import torch
coef = torch.linspace(0, 1, 5, requires_grad=True)
energy = coef.pow(3).mean()
energy.backward()
# %%
print(energy.item(), coef.grad)
# %% rerun 2
