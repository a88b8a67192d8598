# title: The batches fit: nothing is left when the epoch begins
# kind: grad_accumulation
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    net.zero_grad()
    for i in range(6):
        net(torch.ones(1, 2)).sum().backward()
        if i % 3 == 2:
            opt.step()
            opt.zero_grad()
