# title: elements of a chunk are assigned
# kind: view_inplace_forbidden
# variable: left
# raises: RuntimeError

import torch
def mask(h):
    parts = h.chunk(2)  #! cause
    left = parts[0]
    left[0] = 0.0  #! symptom
    return left
mask(torch.ones(4, requires_grad=True) * 3)
