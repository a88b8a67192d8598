# title: A counter that goes on over the epochs, and a clearing that does not know
# kind: grad_accumulation
# variable: w

import torch
w = torch.nn.Parameter(torch.zeros(2))
adam = torch.optim.Adam([w], lr=0.1)
count = 0
for epoch in range(4):
    adam.zero_grad()  #! cause
    for x in torch.eye(2).repeat(2, 1)[:3]:
        ((w - x) ** 2).sum().backward()
        count += 1
        if count == 2:
            adam.step()  #! symptom
            adam.zero_grad()
            count = 0
    count = 0
