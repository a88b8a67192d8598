# title: The values of a dict are replaced in a loop over its items, in a function
# kind: leaf_rebound
# variable: params[name]
# says: the dict does not hold the leaves any more
# fix: with torch.no_grad(): value -= lr * value.grad; value.grad = None

import torch
def descend(params, lr):
    for name, value in params.items():
        params[name] = value - lr * value.grad  #! cause symptom
ps = {"a": torch.ones(3, requires_grad=True), "b": torch.ones(2, requires_grad=True)}
# %%
sum((p ** 2).sum() for p in ps.values()).backward()
descend(ps, 0.1)
