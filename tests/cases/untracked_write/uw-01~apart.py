# title: Forward, a write through .data and backward each have a cell of their own
# kind: untracked_write
# variable: x
# says: The product of cell 1 saved `x`; cell 2 changed its memory.
# fix: Write to a copy.

import torch
x = torch.tensor([1., 2., 3.])
w = torch.ones(3, requires_grad=True)
y = (w * x).sum()
# %%
x.data.mul_(10)  #! cause
# %%
y.backward()  #! symptom
