# title: Name rebound to its own reshape: x = x.view(...)
# kind: hidden_leaf
# variable: theta
# says: Line 3 rebinds `theta` from the leaf to a view of it.
# fix: Give the reshaped tensor another name and read theta.grad.
# torch: UserWarning (line 5): The .grad attribute of a Tensor that is not a leaf Tensor is being
#     accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed
#     want the .grad field to be populated for a non-leaf Tensor, us; prints: None
# source: pytorch/pytorch#8474

import torch
theta = torch.zeros(6).requires_grad_()
theta = theta.unflatten(0, (2, 3))  #! cause
theta.cos().sum().backward()
print(theta.grad)  #! symptom
