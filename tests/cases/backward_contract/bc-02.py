# title: Assigning p.grad with the wrong shape
# kind: backward_contract
# variable: p
# says: The right-hand side has shape [1, 5]; p is [5].
# fix: p.grad = p.detach() * 2
# torch: RuntimeError (line 3): attempting to assign a gradient of size '[1, 5]' to a tensor of
#     size '[5]'. Please ensure that the gradient and the tensor are the same size
# source: pytorch/pytorch#72515

import torch
p = torch.nn.Parameter(torch.zeros(5))
p.grad = p.detach()[None] * 2  #! cause symptom

# === fixed
import torch
p = torch.nn.Parameter(torch.zeros(5))
p.grad = (p.detach()[None] * 2).reshape(p.shape)
# === check
assert p.grad.shape == p.shape
