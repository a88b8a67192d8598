# title: retain_grad on a view is lost when the base is mutated
# kind: retain_grad_misuse
# variable: tail
# says: tail.grad is None without any warning: the in-place write at line 6 re-created the views'
#     history; the gradient now bypasses `tail`.
# fix: Do in-place writes before taking views, or build `buf` out of place.
# torch: no error, no warning; prints: None
# source: pytorch/pytorch#8874

import torch
buf = torch.arange(6., requires_grad=True) * 1.0
tail = buf[3:]
last = tail[-1]
tail.retain_grad()
buf[:2].zero_()  #! cause
last.backward()
print(tail.grad)  #! symptom
