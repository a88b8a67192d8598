# title: Detached outputs and numbers are collected
# kind: memory_retention
# quiet: true

import torch
net = torch.nn.Linear(2, 2)
outs, losses, grads = [], [], []
for x in torch.randn(5, 3, 2):
    y = net(x)
    loss = y.pow(2).mean()
    loss.backward()
    outs.append(y.detach())
    losses.append(loss.item())
    grads.append(net.weight.grad.norm())
    net.zero_grad()
