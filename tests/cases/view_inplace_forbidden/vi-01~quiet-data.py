# title: items of what has no graph, and items that are not written
# kind: view_inplace_forbidden
# quiet: true

import torch
data = torch.ones(2, 3)
for t in data:
    t.sub_(1)
imgs = torch.ones(2, 3, requires_grad=True) * 2
total = 0
for t in imgs:
    t = t - 1
    t.mul_(2)
    total = total + t.sum()
total.backward()
