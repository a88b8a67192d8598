# title: Hook registered on a[0]: never called
# kind: hook_surprise
# variable: a[0]
# says: `a[0]` made a temporary view at line 4 that is not part of the loss.
# fix: a.register_hook(lambda g: ... g[0] ...)
# torch: no error, no warning; prints: [] True
# source: pytorch/pytorch#11751

import torch
a = torch.ones(3, requires_grad=True)
calls = []
a[0].register_hook(lambda g: calls.append(g))  #! cause
(a ** 2).sum().backward()
print(calls, a.grad is not None)  #! symptom

# === fixed
import torch
a = torch.ones(3, requires_grad=True)
calls = []
a.register_hook(lambda g: calls.append(g[0]))
(a ** 2).sum().backward()
# === check
assert [float(g) for g in calls] == [2.]
