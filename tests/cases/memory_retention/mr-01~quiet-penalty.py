# title: A penalty over all parameters, and a residual stream
# kind: memory_retention
# quiet: true

import torch
layers = [torch.nn.Linear(3, 3) for _ in range(5)]
h = torch.ones(2, 3)
reg = 0
for layer in layers:
    h = h + torch.tanh(layer(h))
    reg = reg + layer.weight.pow(2).sum()
(h.mean() + 0.01 * reg).backward()
