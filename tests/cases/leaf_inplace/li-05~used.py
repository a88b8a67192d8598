# title: A chain of in-place calls on a parameter computes the loss
# kind: leaf_inplace
# variable: scale
# says: mul_ would write to the leaf scale; mul and add make new tensors.
# fix: loss = scale.mul(2).add(1).sum()
# raises: RuntimeError

import torch
scale = torch.nn.Parameter(torch.ones(3))
loss = scale.mul_(2).add_(1).sum()  #! cause symptom
loss.backward()

# === fixed
import torch
scale = torch.nn.Parameter(torch.ones(3))
loss = scale.mul(2).add(1).sum()
loss.backward()

# === check
assert scale.grad.tolist() == [2, 2, 2] and scale.tolist() == [1, 1, 1]
