# title: a new tensor each round, and different hooks on one tensor
# kind: hook_surprise
# quiet: true

import torch
net = torch.nn.Linear(2, 2)
norms = []
for k in (1.0, 2.0):
    net.weight.register_hook(lambda g, k=k: g * k)
for hook in (lambda g: g.clamp(-1, 1), lambda g: g * 0.1):
    net.bias.register_hook(hook)
for _ in range(3):
    out = net(torch.ones(1, 2))
    out.register_hook(lambda g: norms.append(g.norm()))
    out.retain_grad()
    out.sum().backward()
