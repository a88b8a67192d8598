# title: The cell that makes the tensors runs again, the one of the optimizer does not
# kind: param_wiring
# variable: gain
# says: `adam` has an older `gain`; the new one gets gradients that no optimizer uses.
# fix: run the cell that makes `adam` again

import torch
gain = torch.nn.Parameter(torch.ones(3, 2))  #! cause
# %%
adam = torch.optim.Adam([gain])
# %%
for _ in range(2):
    adam.zero_grad()
    (gain.exp() - 2).square().mean().backward()
    adam.step()  #! symptom
# %% rerun 1
# %% rerun 3
