# title: autograd.grad of a batch of energies, cause in an earlier cell
# kind: backward_contract
# variable: energy
# raises: RuntimeError
# note: Found in the cell that raises; the tensor was made in the one before.

import torch
from torch.autograd import grad
pos = torch.ones(5, 3, requires_grad=True)
# %%
energy = (pos ** 2).sum(dim=1)  #! cause
# %%
forces = -grad(energy, pos)[0]  #! symptom
