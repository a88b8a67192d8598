# title: requires_grad on the indices returned by torch.max
# kind: requires_grad_flag
# variable: pred
# says: torch.max(...)[1] are int64 indices: gradients cannot exist for them.
# fix: Compute the loss on `out` (logits).
# torch: RuntimeError (line 4): only Tensors of floating point and complex dtype can require
#     gradients
# source: pytorch/pytorch#95110

import torch
out = torch.nn.Linear(2, 3)(torch.ones(1, 2))
pred = torch.max(out, 1)[1]  #! cause
pred.requires_grad = True  #! symptom
