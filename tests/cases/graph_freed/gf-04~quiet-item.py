# title: Running losses are kept as numbers
# kind: graph_freed
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
running = 0
for _ in range(3):
    loss = (w ** 2).sum()
    loss.backward()
    running += loss.item()
    w.grad = None
print(running / 3)
