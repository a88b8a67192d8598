# title: autograd.grad: one of the inputs is unused, but which one?
# kind: unreached_param
# variable: b
# says: `b` (2nd input) does not appear in the graph of `loss`.
# fix: Use b in the loss, drop it, or allow_unused=True.
# torch: RuntimeError (line 4): The differentiated Tensor at index 1 appears to not have been used
#     in the graph. Set allow_unused=True if this is the desired behavior.
# source: pytorch/pytorch#73697

import torch
a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
loss = (a * c).sum()  #! cause
torch.autograd.grad(loss, [a, b, c])  #! symptom
# === fixed
import torch
a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
loss = (a * c).sum()
found = torch.autograd.grad(loss, [a, b, c], allow_unused=True)
# === check
assert [g is None for g in found] == [False, True, False]
