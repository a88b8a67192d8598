# title: Tensor hook and retain_grad disagree after an in-place op
# kind: retain_grad_misuse
# variable: v
# says: The hook (line 4) belongs to the old value of `v` (gradient 0.25), retain_grad follows the
#     new value (gradient 1).
# fix: Rename the new value (u = v / 4) and retain/hook each explicitly.
# torch: no error, no warning; prints: [[0.25, 0.25]] tensor([1., 1.])
# source: pytorch/pytorch#79767

import torch
v = torch.full((2,), 3., requires_grad=True) + 0.
log = []
v.register_hook(lambda g: log.append(g.tolist()))
v.retain_grad()
v.div_(4)  #! cause
v.sum().backward()
print(log, v.grad)  #! symptom
