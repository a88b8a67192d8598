# title: Rounding in the middle of the network
# kind: degenerate_grad
# variable: code
# says: `round` has derivative 0 everywhere.
# fix: Pass the gradient straight through.

import torch
code = torch.nn.Parameter(torch.tensor([0.2, 1.7]))
levels = torch.round(code * 8) / 8  #! cause
loss = ((levels - 1) ** 2).sum()
loss.backward()  #! symptom
print(code.grad)
