# title: A piece of a buffer is retained, then another piece is written
# kind: retain_grad_misuse
# variable: first
# says: the write gave the views a new history.

import torch
w = torch.rand(4, requires_grad=True)
memory = w.neg()
first = memory.narrow(0, 0, 2)
out = first.sum(0)
probe = first[0]
first.retain_grad()
memory[2] = 0.  #! cause
probe.backward()
print(first.grad)  #! symptom
