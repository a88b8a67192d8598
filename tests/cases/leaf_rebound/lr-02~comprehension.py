# title: All weights of a list are updated by a comprehension
# kind: leaf_rebound
# variable: p
# says: the comprehension makes new tensors; the list does not hold the leaves any more.
# fix: for p in ps: p -= 0.1 * p.grad, under torch.no_grad()
# raises: TypeError

import torch
ps = [torch.ones(2, requires_grad=True) for _ in range(2)]
for _ in range(2):
    sum((p ** 2).sum() for p in ps).backward()
    ps = [p - 0.1 * p.grad for p in ps]  #! cause symptom

# === fixed
import torch
ps = [torch.ones(2, requires_grad=True) for _ in range(2)]
for _ in range(2):
    sum((p ** 2).sum() for p in ps).backward()
    with torch.no_grad():
        for p in ps: p -= 0.1 * p.grad
    for p in ps: p.grad = None

# === check
assert all(p.is_leaf and p.requires_grad for p in ps)
