# title: A detach() was put in since the cell last ran
# kind: graph_cut
# variable: mid
# says: `mid` reached `cost` in the cell's last run; the new detach() keeps it from there.
# fix: mid * gain, as before

import torch
base = torch.linspace(1, 2, 4).requires_grad_()
gain = torch.ones(4, requires_grad=True)
# %%
base.grad = gain.grad = None
mid = base.exp() + 1
cost = (mid * gain).square().mean()
cost.backward()
# %%
base.grad = gain.grad = None
mid = base.exp() + 1
cost = (mid.detach() * gain).square().mean()  #! cause symptom
cost.backward()

# === fixed
import torch
base = torch.linspace(1, 2, 4).requires_grad_()
gain = torch.ones(4, requires_grad=True)
# %%
base.grad = gain.grad = None
mid = base.exp() + 1
cost = (mid * gain).square().mean()
cost.backward()
# %%
base.grad = gain.grad = None
mid = base.exp() + 1
cost = (mid * gain).square().mean()  # again
cost.backward()

# === check
assert base.grad is not None
