# title: Updates, initialisation and averages through .data, where nothing is saved
# kind: untracked_write
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
average = [p.detach().clone() for p in net.parameters()]
for p in net.parameters():
    p.data.uniform_(-0.1, 0.1)
for step in range(4):
    for p in net.parameters():
        p.grad = None
    loss = net(torch.ones(3, 2)).pow(2).mean()
    loss.backward()
    for p, e in zip(net.parameters(), average):
        p.data -= 0.1 * p.grad
        e.data.mul_(0.9).add_(p.data, alpha=0.1)
        p.data = p.data.clamp(-1, 1)
