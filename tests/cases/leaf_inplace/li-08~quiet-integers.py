# title: Counters and masks that look like leaves
# kind: leaf_inplace
# quiet: true

import torch
step = torch.zeros((), dtype=torch.long)
w = torch.ones(3, requires_grad=True)
best = torch.full((), float("inf"))
for _ in range(4):
    step += 1
    loss = (w * step).sum()
    best.clamp_(max=loss.item())
    loss.backward()
    w.grad.zero_()
