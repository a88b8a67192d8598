# title: The root in one cell, backward in the next
# kind: degenerate_grad
# variable: gap
# says: The derivative of the square root at 0 is infinite; the line is one of the first cell.
# fix: Add a small number inside the root.

import torch
gap = torch.zeros(3, requires_grad=True)
length = gap.square().sqrt()  #! cause
# %%
length.sum().backward()  #! symptom
