# title: The encoder does not require grad
# kind: graph_freed
# quiet: true

import torch
enc = torch.nn.Linear(2, 2).requires_grad_(False)
with torch.no_grad():
    other = enc(torch.zeros(1, 2))
cond = torch.tanh(enc(torch.ones(1, 2)))
latent = torch.zeros(1, 2, requires_grad=True)
for _ in range(3):
    ((latent - cond - other) ** 2).sum().backward()
    latent.grad = None
