# title: Blocks of a net are frozen in a loop by an attribute
# kind: requires_grad_flag
# variable: block
# says: a module has no such flag.

import torch
net = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(3)))
for block in list(net)[:2]:
    block.requires_grad = False  #! cause
net(torch.ones(1, 2)).sum().backward()
print(net[0].weight.grad)  #! symptom
