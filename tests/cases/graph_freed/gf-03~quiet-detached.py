# title: The conditioning tensor is detached
# kind: graph_freed
# quiet: true

import torch
enc = torch.nn.Linear(2, 2)
cond = torch.tanh(enc(torch.ones(1, 2))).detach()
latent = torch.zeros(1, 2, requires_grad=True)
for _ in range(3):
    ((latent - cond) ** 2).sum().backward()
    latent.grad = None
