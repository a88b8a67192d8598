# title: One step at the end of a cell, by the data of the gradient
# kind: leaf_rebound
# variable: w
# says: this line makes a new tensor; `w` no longer names the leaf
# fix: with torch.no_grad(): w -= 0.1 * w.grad.data

import torch
w = torch.ones(3, requires_grad=True)
(w ** 2).sum().backward()
w = w - 0.1 * w.grad.data  #! cause symptom
# === fixed
import torch
w = torch.ones(3, requires_grad=True)
(w ** 2).sum().backward()
with torch.no_grad():
    w -= 0.1 * w.grad.data
# === check
assert w.is_leaf
