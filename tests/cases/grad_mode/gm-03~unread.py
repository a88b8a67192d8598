# title: Grad mode is off since an earlier cell; nothing raises, and a gradient is missing
# kind: grad_mode
# variable: v
# says: grad mode has been off since line 5: what is computed of v has no graph.
# fix: torch.set_grad_enabled(True)

import torch
u = torch.ones(2, requires_grad=True)
v = torch.ones(2, requires_grad=True)
part = (u * 3).sum()
torch.set_grad_enabled(False)  #! cause
print(part)
# %%
other = v * 2
with torch.enable_grad():
    total = part * other.sum()
total.backward()
print(u.grad, v.grad)  #! symptom
# %%
torch.set_grad_enabled(True)
