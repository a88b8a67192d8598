# title: Set where there is none, added to where there is one
# kind: grad_accumulation
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    for p in net.parameters():
        g = torch.ones_like(p)
        p.grad = g if p.grad is None else p.grad + g
    net(torch.ones(1, 2)).sum().backward()
    for p in net.parameters():
        p.grad += 0.1 * p.detach()
    opt.step()
