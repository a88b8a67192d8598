# title: A tensor is to require grad, and a letter is missing
# kind: requires_grad_flag
# variable: x
# says: require_grad is a new attribute.

import torch
x = torch.ones(3)
x.require_grad = True  #! cause
y = (x * 2).sum()
print(y.requires_grad)  #! symptom
