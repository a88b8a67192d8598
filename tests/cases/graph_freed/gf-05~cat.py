# title: Backward twice over a graph of views and cat
# kind: graph_freed
# variable: whole
# says: Backward ran twice over the same graph and torch did not object: the gradient is doubled.
# fix: Drop the second backward.
# torch: no error, no warning

import torch
parts = [torch.ones(2, requires_grad=True), torch.zeros(3, requires_grad=True)]
whole = torch.cat([p.view(-1) for p in parts]).mean()
whole.backward()
print(parts[0].grad)
whole.backward()  #! cause
print(parts[0].grad)  #! symptom
