# title: retain_grad() on leaves does nothing, and harms nothing
# kind: retain_grad_misuse
# quiet: true

import torch
net = torch.nn.Linear(2, 2)
x = torch.rand(1, 2, requires_grad=True)
x.retain_grad()
for p in net.parameters():
    p.retain_grad()
net(x).sum().backward()
assert x.grad is not None
