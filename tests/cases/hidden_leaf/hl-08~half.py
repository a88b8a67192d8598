# title: A weight is stored in bfloat16 by a chained call, in a function
# kind: hidden_leaf
# variable: w
# says: the leaf is what torch.randn makes; w is its conversion.

import torch
def make(n):
    return torch.randn(n, n, requires_grad=True).bfloat16()  #! cause
w = make(3)
out = w @ torch.ones(3, 1, dtype=torch.bfloat16)
out.retain_grad()
out.sum().backward()
print(out.grad.shape)
print(w.grad)  #! symptom
