# title: Two weights are updated in one statement, under no_grad
# kind: leaf_rebound
# variable: b
# says: the statement makes new tensors, which do not require grad.

import torch
a, b = (torch.ones(2, requires_grad=True) for _ in range(2))
(a * b).sum().backward()
with torch.no_grad():
    a, b = a - 0.1 * a.grad, b - 0.1 * b.grad  #! cause
print(a.requires_grad, b.requires_grad)  #! symptom
