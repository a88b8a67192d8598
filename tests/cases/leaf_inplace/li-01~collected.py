# title: Results put into a tensor that was made to require grad, in a function
# kind: leaf_inplace
# variable: out
# says: `out` is a leaf that requires grad
# fix: out = torch.zeros(len(w)), without requires_grad

import torch
def scaled(w):
    out = torch.zeros(len(w)).requires_grad_()
    for i in range(len(w)):
        out[i] = w[i] * i  #! cause symptom
    return out
w = torch.nn.Parameter(torch.ones(3))
scaled(w).sum().backward()
# === fixed
import torch
def scaled(w):
    out = torch.zeros(len(w))
    for i in range(len(w)):
        out[i] = w[i] * i
    return out
w = torch.nn.Parameter(torch.ones(3))
scaled(w).sum().backward()
# === check
assert w.grad.tolist() == [0, 1, 2]
