# title: w = w - lr*w.grad outside no_grad: second iteration has grad None
# kind: leaf_rebound
# variable: bias
# says: After the first pass `bias` is SubBackward0's output; on the second pass bias.grad is
#     None.
# fix: with torch.no_grad(): bias -= 0.01 * bias.grad; bias.grad = None
# torch: UserWarning (line 6): The .grad attribute of a Tensor that is not a leaf Tensor is being
#     accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed
#     want the .grad field to be populated for a non-leaf Tensor, us; TypeError (line 6):
#     unsupported operand type(s) for *: 'float' and 'NoneType'
# source: pytorch/pytorch#30073

import torch
bias = torch.tensor(1., requires_grad=True)
for _ in range(2):
    err = (bias - 8) ** 2
    err.backward()
    bias = bias - 0.01 * bias.grad  #! cause symptom

# === fixed
import torch
bias = torch.tensor(1., requires_grad=True)
for _ in range(2):
    err = (bias - 8) ** 2
    err.backward()
    with torch.no_grad():
        bias -= 0.01 * bias.grad
        bias.grad = None

# === check
assert bias.is_leaf and bias.requires_grad
assert torch.isclose(bias, torch.tensor(8 - 7 * 0.98 ** 2))
