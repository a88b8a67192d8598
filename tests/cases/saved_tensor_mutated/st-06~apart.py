# title: What a product saved is centred in the next cell, and backward is called in a third
# kind: saved_tensor_mutated
# variable: X
# says: The product of cell 1 saved `X`; the write in cell 2 changed it in place.
# fix: X = X - X.mean(0)
# raises: RuntimeError

import torch
X = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
w = torch.ones(2, requires_grad=True)
pred = X @ w
# %%
X -= X.mean(0)  #! cause
# %%
pred.pow(2).mean().backward()  #! symptom
