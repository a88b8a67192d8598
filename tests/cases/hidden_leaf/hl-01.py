# title: requires_grad=True set before moving the tensor: the moved tensor has no .grad
# kind: hidden_leaf
# variable: inputs
# says: At line 4 `.to()` copied the leaf and rebound the name: `inputs` is now the output of
#     ToCopyBackward0; the real leaf has no name any more, so its gradient is unreachable.
# fix: Move/convert first, then inputs.requires_grad_() (or pass device=/dtype= to the
#     constructor).
# torch: UserWarning (line 6): The .grad attribute of a Tensor that is not a leaf Tensor is being
#     accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed
#     want the .grad field to be populated for a non-leaf Tensor, us; prints: None False
# source: pytorch/pytorch#12627
# note: dtype stands in for .cuda(): on a CPU-only box .to('cpu') is a no-op, see hl-09.

import torch
inputs = torch.randn(3, 5)
inputs.requires_grad = True
inputs = inputs.to(torch.float64)  #! cause
inputs.sum().backward()
print(inputs.grad, inputs.is_leaf)  #! symptom

# === fixed
import torch
inputs = torch.randn(3, 5)
inputs = inputs.to(torch.float64)
inputs.requires_grad_()
inputs.sum().backward()
print(inputs.grad, inputs.is_leaf)

# === check
assert inputs.grad.equal(torch.ones_like(inputs))
