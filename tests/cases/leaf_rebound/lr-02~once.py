# title: A list of weights is replaced once, at the end of the cell
# kind: leaf_rebound
# variable: p
# says: the list does not hold the leaves any more
# fix: with torch.no_grad(): for p in ps: p -= 0.1 * p.grad; p.grad = None

import torch
ps = [torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)]
sum((p ** 2).sum() for p in ps).backward()
ps = [p - 0.1 * p.grad for p in ps]  #! cause symptom
# === fixed
import torch
ps = [torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)]
sum((p ** 2).sum() for p in ps).backward()
with torch.no_grad():
    for p in ps:
        p -= 0.1 * p.grad
        p.grad = None
# === check
assert all(p.is_leaf and p.requires_grad for p in ps)
