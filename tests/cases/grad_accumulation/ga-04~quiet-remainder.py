# title: What is left over at the end of an epoch gets its own step
# kind: grad_accumulation
# quiet: true

import torch
w = torch.nn.Parameter(torch.zeros(1))
opt = torch.optim.SGD([w], lr=1.)
for epoch in range(3):
    opt.zero_grad()
    for i in range(5):
        (w * 1).sum().backward()
        if i % 2 == 1 or i == 4:
            opt.step()
            opt.zero_grad()
