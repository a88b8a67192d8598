# title: What an update would give is only looked at
# kind: leaf_rebound
# quiet: true

import torch
bias = torch.tensor(1., requires_grad=True)
trail = []
for rate in (0.1, 0.2):
    bias.grad = None
    ((bias - 8) ** 2).backward()
    after = bias - rate * bias.grad
    trail.append(after.item())
with torch.no_grad():
    bias.copy_(after)
bias.grad = None
