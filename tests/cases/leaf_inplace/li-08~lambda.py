# title: A lambda writes in place to what it is given
# kind: leaf_inplace
# variable: p
# says: p is a leaf that requires grad.
# fix: make the lambda a function with @torch.no_grad()
# raises: RuntimeError

import torch
w = torch.ones(2, requires_grad=True)
shift = lambda p: p.add_(1)  #! cause symptom
for tensor in (torch.ones(2), w):
    shift(tensor)
