# title: The loss is added up as a number, and detached
# kind: memory_retention
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
total, other = 0.0, torch.zeros(())
for _ in range(5):
    loss = (w.exp() ** 2).sum()
    loss.backward()
    total += loss.item()
    other += loss.detach()
    w.grad = None
