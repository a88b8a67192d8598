# title: A distance by hand in a function, of two points that are the same
# kind: degenerate_grad
# variable: anchor
# says: The derivative of the square root at 0 is infinite; `anchor` gets nan.
# fix: Add a small number inside the root.

import torch
def distance(one, other):
    gap = (one - other).pow(2).sum(-1)
    return gap.sqrt()  #! cause
anchor = torch.ones(2, 3, requires_grad=True)
positive = torch.ones(2, 3)
loss = distance(anchor, positive).mean()
loss.backward()  #! symptom
