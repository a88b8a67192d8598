# title: A slice of a detached tensor is filled
# kind: saved_tensor_mutated
# variable: part
# says: `part` is memory of `y`, which sigmoid saved.
# fix: part = y.detach()[0].clone()
# raises: RuntimeError

import torch
x = torch.ones(3, 2, requires_grad=True)
y = torch.sigmoid(x)
part = y.detach()[0]
part.zero_()  #! cause
y.mean().backward()  #! symptom
