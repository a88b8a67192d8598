# title: A lambda reads the gradient of what it is given
# kind: nonleaf_grad_read
# variable: h
# says: h is computed; its gradient is not kept.

import torch
w = torch.ones(2, requires_grad=True)
h = w.exp()  #! cause
read = lambda t: t.grad
h.sum().backward()
print(read(h))  #! symptom
