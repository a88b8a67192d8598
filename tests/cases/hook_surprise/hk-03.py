# title: Hook registered on a view before its base is mutated never fires for the new value
# kind: hook_surprise
# variable: v
# says: The hook (x10) belongs to the old value of `v`; after line 5 backward does not pass
#     through it: x0.grad is 1.
# fix: Register the hook after the last in-place op.
# torch: no error, no warning; prints: tensor([1., 1.])
# source: pytorch/pytorch#107323

import torch
x0 = torch.ones(2, requires_grad=True)
x = x0.clone(); v = x.view(2)
v.register_hook(lambda g: g * 10)
x.add_(1)  #! cause
v.sum().backward()
print(x0.grad)  #! symptom

# === fixed
import torch
x0 = torch.ones(2, requires_grad=True)
x = x0.clone(); v = x.view(2)
x.add_(1)
v = x.view(2)
v.register_hook(lambda g: g * 10)
v.sum().backward()
# === check
assert x0.grad.tolist() == [10., 10.]
