# title: Data is scaled in a loop, and its gradient is to be cleared
# kind: leaf_rebound
# variable: x
# says: this line computes a new tensor, and `x` no longer names the leaf
# fix: x2 = x * 2; x2.sum().backward()

import torch
x = torch.ones(2, 3, requires_grad=True)
for _ in range(2):
    x = x * 2  #! cause
    x.sum().backward()
    x.grad.zero_()  #! symptom
