# title: requires_grad_(True) on a non-leaf is a silent no-op while the attribute setter raises
# kind: requires_grad_flag
# variable: b
# says: `b` already requires grad through `a`; line 4 did not turn it into a leaf and will not
#     give it a .grad.
# fix: b.retain_grad(), or b = b.detach().requires_grad_() for a real new leaf.
# torch: no error, no warning; prints: False False
# source: pytorch/pytorch#163263

import torch
a = torch.ones(2, requires_grad=True)
b = a * 2
b.requires_grad_(True)  #! cause
b.sum().backward()
print(b.is_leaf, b.retains_grad)  #! symptom
