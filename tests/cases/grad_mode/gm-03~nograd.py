# title: Grad mode is switched off for good at the top of a cell
# kind: grad_mode
# variable: no_grad()
# says: nothing is left to leave the mode with.

from torch import no_grad
import torch
# %%
no_grad().__enter__()  #! cause
w = torch.ones(2, requires_grad=True)  #! symptom
print((w * 2).requires_grad)
# %%
torch.set_grad_enabled(True)
