# title: retain_grad() called after backward: None and no warning any more
# kind: retain_grad_misuse
# variable: y
# says: retain_grad() at line 5 came after the backward of line 4; it only affects later backward
#     calls. It also switched off torch's non-leaf warning.
# fix: Move y.retain_grad() to before line 4.
# torch: no error, no warning; prints: None
# source: https://runebook.dev/en/docs/pytorch/generated/torch.tensor.retain_grad

import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
y.sum().backward()
y.retain_grad()  #! cause
print(y.grad)  #! symptom

# === fixed
import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
y.retain_grad()
y.sum().backward()
print(y.grad)

# === check
assert y.grad.tolist() == [1, 1]
