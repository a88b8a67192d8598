# title: Grad mode is switched off for good, and backward is called
# kind: grad_mode
# variable: torch.no_grad()
# says: grad mode is off from line 4 on, so that the loss has no graph.
# fix: torch.set_grad_enabled(True), or no_grad around what needs no gradient
# torch: RuntimeError (line 6): element 0 of tensors does not require grad

import torch
# %%
w = torch.ones(2, requires_grad=True)
torch.no_grad().__enter__()  #! cause
loss = (w * 2).sum()
loss.backward()  #! symptom
# %%
torch.set_grad_enabled(True)
# === fixed
import torch
# %%
w = torch.ones(2, requires_grad=True)
torch.set_grad_enabled(True)
loss = (w * 2).sum()
loss.backward()
# === check
assert w.grad.tolist() == [2, 2]
