# title: Set to None by hand, then read
# kind: grad_accumulation
# variable: x
# raises: AttributeError

import torch
x = torch.ones(2, requires_grad=True)
(x * 3).sum().backward()
x.grad = None  #! cause
x.grad.abs().max()  #! symptom
