# title: Norm of a zero vector: .norm() gives 0, sqrt(sum of squares) gives nan
# kind: degenerate_grad
# variable: d
# says: SqrtBackward0 at line 3 divides by sqrt(0).
# fix: torch.linalg.vector_norm(d, dim=1), or sqrt(s + eps).
# torch: no error, no warning; prints: tensor([[nan, nan, nan]])
# source: pytorch/pytorch#2421

import torch
d = torch.zeros(1, 3, requires_grad=True)
torch.sqrt((d * d).sum(1)).sum().backward()  #! cause
print(d.grad)  #! symptom
