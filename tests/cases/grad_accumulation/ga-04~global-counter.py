# title: A counter that no epoch resets: most full groups are erased when an epoch begins
# kind: grad_accumulation
# variable: w

import torch

w = torch.nn.Parameter(torch.zeros(2))
opt = torch.optim.SGD([w], lr=0.1)
seen = 0
for epoch in range(8):
    opt.zero_grad()  #! cause
    for x in torch.eye(2).repeat(2, 1)[:3]:
        ((w - x) ** 2).sum().backward()
        seen += 1
        if seen % 8 == 0:
            opt.step()  #! symptom
