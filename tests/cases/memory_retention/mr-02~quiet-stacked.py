# title: A list of losses is stacked and backpropagated, in every step
# kind: memory_retention
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    losses = []
    for x in torch.randn(4, 3, 2):
        losses.append(net(x).pow(2).mean())
    opt.zero_grad()
    torch.stack(losses).mean().backward()
    opt.step()
