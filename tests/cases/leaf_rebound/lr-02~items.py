# title: A dict of weights is written anew by a comprehension
# kind: leaf_rebound
# variable: v
# says: the dict does not hold the leaves any more
# fix: with torch.no_grad(): for k, v in ps.items(): v -= 0.1 * v.grad; v.grad = None

import torch
ps = {"a": torch.ones(3, requires_grad=True), "b": torch.ones(2, requires_grad=True)}
sum((p ** 2).sum() for p in ps.values()).backward()
ps = {k: v - 0.1 * v.grad for k, v in ps.items()}  #! cause symptom
