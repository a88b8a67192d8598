# title: Each step retains its own activation before its own pass
# kind: retain_grad_misuse
# quiet: true

import torch
net = torch.nn.Linear(2, 2)
norms = []
for step in range(3):
    act = net(torch.ones(1, 2))
    act.retain_grad()
    act.square().sum().backward()
    norms.append(act.grad.norm())
    net.zero_grad()
act = net(torch.ones(1, 2))
act.retain_grad()
if act.grad is not None:
    norms.append(act.grad.norm())
