# title: Leaves of a comprehension are clamped in place
# kind: leaf_inplace
# variable: t
# says: t is a leaf that requires grad.

import torch
inputs = [torch.rand(2, requires_grad=True) for _ in range(2)]
clean = [t.clamp_(0.1, 0.9) for t in inputs]  #! cause symptom
