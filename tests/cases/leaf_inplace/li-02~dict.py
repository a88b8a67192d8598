# title: Weights in a dict are updated by augmented assignment
# kind: leaf_inplace
# variable: weights[name]
# says: -= is in place, on a leaf.

import torch
weights = {"w": torch.randn(3, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
loss = (weights["w"].sum() + weights["b"]).pow(2)
loss.backward()
for name in weights:
    weights[name] -= 0.1 * weights[name].grad  #! cause symptom
