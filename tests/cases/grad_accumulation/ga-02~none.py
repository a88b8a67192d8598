# title: Set to None by hand in the wrong line
# kind: grad_accumulation
# variable: opt

import torch
net = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
# %%
net(torch.ones(1, 2)).sum().backward()
for p in net.parameters():
    p.grad = None  #! cause
opt.step()  #! symptom
