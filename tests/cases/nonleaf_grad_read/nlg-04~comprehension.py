# title: The gradients of a dict of activations are collected
# kind: nonleaf_grad_read
# variable: act
# says: the activations are computed; retain them before backward.

import torch
w = torch.rand(2, requires_grad=True)
# %%
acts = {name: getattr(torch, name)(w) for name in ("sin", "cos")}  #! cause
sum(act.sum() for act in acts.values()).backward()
grads = {name: act.grad for name, act in acts.items()}  #! symptom
