# title: The updated weight is made to keep its gradient, step by step
# kind: leaf_rebound
# variable: w
# says: `w` keeps its gradient, but each backward goes on through all updates before it
# fix: with torch.no_grad(): w -= 0.1 * w.grad; w.grad = None

import torch
w = torch.ones(3, requires_grad=True)
for _ in range(3):
    (w ** 2).sum().backward()
    w = w - 0.1 * w.grad  #! cause symptom
    w.retain_grad()
