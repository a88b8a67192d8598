# title: Four micro-batches, one step, then the clearing
# kind: grad_accumulation
# quiet: true

import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(12):
    loss = net(torch.randn(2, 3)).pow(2).mean() / 4
    loss.backward()
    if (i + 1) % 4 == 0:
        opt.step()
        opt.zero_grad()
