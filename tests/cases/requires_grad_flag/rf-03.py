# title: Integer tensor with requires_grad=True
# kind: requires_grad_flag
# variable: steps
# says: torch.arange(3) is int64.
# fix: torch.arange(3., requires_grad=True)
# torch: RuntimeError (line 2): Only Tensors of floating point and complex dtype can require
#     gradients
# source: pytorch/pytorch#53466

import torch
steps = torch.arange(3, requires_grad=True)  #! cause symptom
