# title: Legal in-place on a non-leaf: nothing saved it, the gradient is right
# kind: saved_tensor_mutated
# variable: q
# says: No warning: in-place on the non-leaf `q` is allowed, AddBackward0 saved nothing, and the
#     overwritten element correctly gets gradient 0.
# fix: None needed (an info note that element 1 was overwritten is fine).
# torch: no error, no warning; prints: tensor([0.3679, 0.0000, 2.7183])
# source: pytorch/pytorch#9391 (second half of the report)
# quiet: true

import torch
z = torch.linspace(-1, 1, 3, requires_grad=True)
q = z.exp() + 1
q[1] = 0.  #! cause
q.sum().backward()
print(z.grad)  #! symptom
