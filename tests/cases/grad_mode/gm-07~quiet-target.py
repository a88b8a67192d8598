# title: A detached view, and a copy made under no_grad, as targets
# kind: grad_mode
# quiet: true

import torch
w = torch.nn.Parameter(torch.arange(4.))
with torch.no_grad():
    target = w.view(2, 2).clone()
    first = w.detach()[:2]
    rows = w.view(2, 2) * 1
loss = (w.view(2, 2) - target - rows).square().sum() + (w[:2] * first).sum()
loss.backward()
assert w.grad is not None
