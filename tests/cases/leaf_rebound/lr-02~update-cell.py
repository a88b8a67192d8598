# title: An update in a cell of its own, and what comes of it in the next one
# kind: leaf_rebound
# variable: bias
# says: bias was a leaf until line 2 of the cell above made a new tensor.
# fix: with torch.no_grad(): bias.add_(bias.grad, alpha=-0.5)

import torch
bias = torch.zeros(2, requires_grad=True)
((bias - 1) ** 2).sum().backward()
# %%
bias = bias.add(bias.grad, alpha=-0.5)  #! cause
# %%
((bias - 1) ** 2).sum().backward()
print(bias.grad)  #! symptom
