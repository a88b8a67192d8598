# title: Reading .grad after zero_grad(): None since the set_to_none default
# kind: grad_accumulation
# variable: m.weight
# says: opt.zero_grad() sets .grad to None by default.
# fix: zero_grad(set_to_none=False), or read the gradient before clearing it.
# torch: TypeError (line 6): 'NoneType' object is not subscriptable
# source: pytorch/tutorials#2219

import torch
m = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
m(torch.ones(1, 2)).sum().backward()
opt.zero_grad()  #! cause
print(m.weight.grad[0][:2])  #! symptom
