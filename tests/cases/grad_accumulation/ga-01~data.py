# title: An update through .data, the gradient of each parameter read in a loop
# kind: grad_accumulation
# variable: net.weight

import torch
net = torch.nn.Linear(3, 1)
x, y = torch.ones(4, 3), torch.zeros(4, 1)
for epoch in range(3):
    torch.nn.functional.l1_loss(net(x), y).backward()  #! cause
    for p in net.parameters():
        p.data.sub_(p.grad, alpha=0.1)  #! symptom
