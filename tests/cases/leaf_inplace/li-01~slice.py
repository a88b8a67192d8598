# title: A part of a flat tensor is trained, and updated by its rows
# kind: leaf_inplace
# variable: first
# says: this writes through a view into `first`, a leaf that requires grad
# fix: with torch.no_grad(): first[0].sub_(first.grad[0])

import torch
flat = torch.zeros(12)
def step(first):
    first.exp().sum().backward()
    first[0].sub_(first.grad[0])  #! cause symptom
step(flat[:6].view(3, 2).requires_grad_())
