# title: Views are taken with grad mode on, or only read under no_grad
# kind: grad_mode
# quiet: true

import torch
w = torch.nn.Parameter(torch.ones(4))
flat = w.view(2, 2)
with torch.no_grad():
    shown = w.view(2, 2)
    print(shown.norm(), (shown * 2).sum())
    w[:2].mul_(0.5)
flat = w.view(2, 2)
(flat ** 2).sum().backward()
assert w.grad is not None
