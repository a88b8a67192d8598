# title: x += 1 on a freshly made leaf
# kind: leaf_inplace
# variable: x
# says: In-place on a leaf that requires grad.
# fix: x2 = x + 1 if it must be differentiable; with torch.no_grad(): x += 1 if it is an
#     initialisation.
# torch: RuntimeError (line 3): a leaf Variable that requires grad is being used in an in-place
#     operation.
# source: https://discuss.pytorch.org/t/leaf-variable-was-used-in-an-inplace-operation/308/2

import torch
x = torch.tensor([1., 2., 3.], requires_grad=True)
x += 1  #! cause symptom
