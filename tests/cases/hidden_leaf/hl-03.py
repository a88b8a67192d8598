# title: reshape()/view() chained on the constructor hides the leaf
# kind: hidden_leaf
# variable: knots
# says: `knots` is a view of an anonymous leaf; gradients land on that unnamed base (knots._base).
# fix: Reshape before asking for gradients: torch.linspace(0, 1, 6).reshape(3, 2).requires_grad_()
# torch: UserWarning (line 4): The .grad attribute of a Tensor that is not a leaf Tensor is being
#     accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed
#     want the .grad field to be populated for a non-leaf Tensor, us; prints: None
# source: pytorch/pytorch#19778

import torch
knots = torch.linspace(0, 1, 6, requires_grad=True).reshape(3, 2)  #! cause
knots.pow(2).sum().backward()
print(knots.grad)  #! symptom
