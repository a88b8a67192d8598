# title: A sum that requires grad, added to in a loop
# kind: leaf_inplace
# variable: loss
# says: `loss` is a leaf that requires grad; add_ would have to be recorded
# fix: loss = torch.zeros(1), without requires_grad
# note: under no_grad the loop would run, and the weight would get no gradient.

import torch
w = torch.ones(3, requires_grad=True)
loss = torch.zeros(1, requires_grad=True)
for i in range(3):
    loss += (w * i).sum()  #! cause symptom
loss.backward()
# === fixed
import torch
w = torch.ones(3, requires_grad=True)
loss = torch.zeros(1)
for i in range(3):
    loss += (w * i).sum()
loss.backward()
# === check
assert w.grad.tolist() == [3, 3, 3]
