# title: A function ends with a step that goes through NumPy
# kind: leaf_rebound
# variable: w
# says: `sub` makes a new tensor
# fix: with torch.no_grad(): w.sub_(step)

import torch
w = torch.ones(3, requires_grad=True)
(w ** 2).sum().backward()
step = 0.1 * torch.from_numpy(w.grad.numpy())
w = w.sub(step)  #! cause symptom
