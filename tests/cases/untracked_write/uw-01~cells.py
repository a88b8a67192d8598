# title: The forward pass in one cell, a normalisation through .data in the next
# kind: untracked_write
# variable: z
# says: A graph of an earlier cell saved `z`.
# fix: Write to a copy.

import torch
a = torch.tensor([1., 2.], requires_grad=True)
z = torch.sigmoid(a)
# %%
z.data /= z.data.sum()  #! cause
z.sum().backward()  #! symptom
