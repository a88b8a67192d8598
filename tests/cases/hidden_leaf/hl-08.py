# title: retain_grad on a clone but .grad read on the moved original
# kind: hidden_leaf
# variable: x
# says: `x` is itself a non-leaf (line 2 converted an anonymous leaf); retaining `z` does not
#     retain `x`.
# fix: x = torch.ones(4, dtype=torch.double, requires_grad=True)
# torch: UserWarning (line 6): The .grad attribute of a Tensor that is not a leaf Tensor is being
#     accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed
#     want the .grad field to be populated for a non-leaf Tensor, us; prints: None tensor([2., 2.,
#     2., 2.], dtype=torch.float64)
# source: pytorch/pytorch#12923

import torch
x = torch.ones(4, requires_grad=True).double()  #! cause
z = x.clone()
z.retain_grad()
(z ** 2).sum().backward()
print(x.grad, z.grad)  #! symptom
