# title: It looks alike, but the last op saved its result: an element of exp's output is set
# kind: saved_tensor_mutated
# variable: q
# says: ExpBackward0 saved `q`, and the element was set before backward.
# fix: q = q.clone() before the write
# raises: RuntimeError

import torch
z = torch.linspace(-1, 1, 3, requires_grad=True)
q = (z + 1).exp()
q[1] = 0.  #! cause
q.sum().backward()  #! symptom
