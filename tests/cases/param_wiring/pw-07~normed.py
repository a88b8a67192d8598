# title: A direction is brought back to length one by each run of a cell, as a new leaf
# kind: param_wiring
# variable: axis
# says: adam has an older axis; that of the run before gets gradients that no optimizer uses.
# fix: with torch.no_grad(): axis.copy_(...)

import torch
axis = torch.ones(3, requires_grad=True)
adam = torch.optim.Adam([axis], lr=0.1)
# %%
adam.zero_grad()
loss = (torch.arange(3.) @ axis) ** 2
loss.backward()
adam.step()  #! symptom
axis = (axis / axis.norm()).detach().requires_grad_()  #! cause
# %% rerun 2
