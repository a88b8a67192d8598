# title: Losses of micro-batches are summed for one backward
# kind: memory_retention
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    total = 0
    for x in torch.ones(4, 5, 2):
        total = total + net(x).pow(2).mean()
    opt.zero_grad()
    total.backward()
    opt.step()
