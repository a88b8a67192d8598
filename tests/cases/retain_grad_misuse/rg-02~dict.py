# title: Activations are retained in a loop after the pass
# kind: retain_grad_misuse
# variable: act
# says: retain_grad() keeps later gradients only.

import torch
w = torch.rand(3, requires_grad=True)
acts = {"sin": w.sin(), "exp": w.exp()}
sum(a.sum() for a in acts.values()).backward()
for name, act in acts.items():
    act.retain_grad()  #! cause
    print(name, act.grad)  #! symptom

# === fixed
import torch
w = torch.rand(3, requires_grad=True)
acts = {"sin": w.sin(), "exp": w.exp()}
for name, act in acts.items():
    act.retain_grad()
sum(a.sum() for a in acts.values()).backward()
for name, act in acts.items():
    print(name, act.grad)

# === check
assert all(act.grad is not None for act in acts.values())
