# title: sqrt of negative numbers in the inactive branch of where
# kind: degenerate_grad
# variable: u
# says: SqrtBackward0 of the unselected branch returns nan for u[1].
# fix: u.clamp(min=1e-12).sqrt() inside where.
# torch: no error, no warning; prints: tensor([0.2500, nan])
# source: pytorch/pytorch#187297

import torch
u = torch.tensor([4., -9.], requires_grad=True)
root = torch.where(u >= 0, u.sqrt(), -u)  #! cause
root.sum().backward()
print(u.grad)  #! symptom
