# title: Reentrant checkpoint with inputs that do not require grad
# kind: unreached_param
# variable: batch
# says: checkpoint(use_reentrant=True) decides by its *inputs*: `batch` does not require grad, so
#     block's parameters get no gradient.
# fix: use_reentrant=False
# torch: UserWarning (in checkpoint.py): None of the inputs have requires_grad=True. Gradients
#     will be None; prints: False True
# source: pytorch/pytorch#7617

import torch
from torch.utils.checkpoint import checkpoint
block = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
batch = torch.rand(2, 3)  #! cause
out = checkpoint(block, batch, use_reentrant=True)
print(out.requires_grad, block(batch).requires_grad)  #! symptom
# === fixed
import torch
from torch.utils.checkpoint import checkpoint
block = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
batch = torch.rand(2, 3)
out = checkpoint(block, batch, use_reentrant=False)
print(out.requires_grad, block(batch).requires_grad)
# === check
assert out.requires_grad
