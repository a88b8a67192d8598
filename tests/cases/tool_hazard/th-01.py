# title: A debugger/variable inspector touching attributes triggers torch's non-leaf warning
# kind: tool_hazard
# variable: y
# says: Nothing for the user: the read of .grad came from inspection, not from the cell's own
#     code.
# fix: Inspect with retains_grad/is_leaf first and read .grad only if it can be set (or inside
#     warnings.catch_warnings).
# torch: UserWarning (line 4): The .grad attribute of a Tensor that is not a leaf Tensor is being
#     accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed
#     want the .grad field to be populated for a non-leaf Tensor, us
# source: Egrt/yolov7-tiny-obb#6
# note: hasattr(t, 'grad') warns too.
# quiet: true

import torch
y = torch.ones(2, 2, requires_grad=True) * 2
for name in ("shape", "grad", "is_leaf"):
    getattr(y, name, None)  #! cause symptom
