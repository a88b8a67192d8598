# title: Losses are summed, and backward runs once
# kind: graph_freed
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
running = 0
for k in range(3):
    running = running + ((w - k) ** 2).sum()
running.backward()
