# title: the base is written, then a chunk of it is used
# kind: view_inplace_forbidden
# variable: left
# raises: RuntimeError

import torch
h = torch.ones(2, 4, requires_grad=True) * 1.0
left, right = h.chunk(2, dim=1)
h.mul_(2)  #! cause
loss = (left * right).sum()  #! symptom
