# title: retain_grad on a tensor without requires_grad
# kind: retain_grad_misuse
# variable: s
# says: `s` does not require grad because `x` (line 2) does not.
# fix: x = torch.zeros(3, requires_grad=True)
# torch: RuntimeError (line 4): can't retain_grad on Tensor that has requires_grad=False
# source: pytorch/pytorch#3890

import torch
x = torch.zeros(3)  #! cause
s = torch.sigmoid(x)
s.retain_grad()  #! symptom
