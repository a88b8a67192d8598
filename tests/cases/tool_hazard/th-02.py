# title: Library code that checks t.grad is not None on non-leaves
# kind: tool_hazard
# variable: t
# says: Report at info level at most, and attribute it to the library frame, not to the user's
#     line 5.
# fix: t.retains_grad or t.is_leaf before reading t.grad.
# torch: UserWarning (line 3): The .grad attribute of a Tensor that is not a leaf Tensor is being
#     accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed
#     want the .grad field to be populated for a non-leaf Tensor, us
# source: microsoft/nni#5299
# quiet: true

import torch
def library_step(t):
    return t.grad is not None  #! cause symptom
out = torch.ones(2, requires_grad=True) * 2
library_step(out)
