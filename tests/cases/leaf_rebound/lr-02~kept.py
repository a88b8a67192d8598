# title: The first weight is kept under another name, and the update still loses the leaf
# kind: leaf_rebound
# variable: w
# says: w is a new tensor after the first step, whatever still points to the leaf.
# fix: with torch.no_grad(): w -= 0.1 * w.grad; w.grad = None
# raises: TypeError

import torch
w = torch.ones(3, requires_grad=True)
first = w
for _ in range(2):
    (w ** 2).sum().backward()
    w = w - 0.1 * w.grad  #! cause symptom
