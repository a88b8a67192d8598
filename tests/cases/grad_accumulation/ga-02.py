# title: zero_grad between backward and step: optimizer steps on nothing
# kind: grad_accumulation
# variable: opt
# says: opt.step() at line 6 sees no gradient: zero_grad() at line 5 erased what line 4 computed.
#     w did not move.
# fix: Order: zero_grad, backward, step.
# torch: no error, no warning; prints: 1.0
# source: lucidrains/byol-pytorch#93

import torch
w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.SGD([w], lr=0.1)
(w * 2).sum().backward()
opt.zero_grad()  #! cause
opt.step()  #! symptom
print(w.item())
