# title: Adding into .grad by hand after zero_grad()
# kind: grad_accumulation
# variable: p
# says: p.grad is None (never computed, or cleared at line 4).
# fix: p.grad = g if p.grad is None else p.grad + g
# torch: TypeError (line 6): unsupported operand type(s) for +=: 'NoneType' and 'Tensor'
# source: pytorch/examples#1172

import torch
m = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
opt.zero_grad()  #! cause
for p in m.parameters():
    p.grad += torch.ones_like(p)  #! symptom
