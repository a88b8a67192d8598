# title: autograd.grad is executed a second time
# kind: notebook_stale_state
# variable: f
# says: Cell 2 ran twice on the same `f`.
# fix: Run cell 1 again first.
# raises: RuntimeError

import torch
x = torch.linspace(0, 1, 4, requires_grad=True)
f = x.sin().sum()  #! cause
# %%
torch.autograd.grad(f, x)  #! symptom
# %% rerun 2
