# title: The gradient is zeroed in place between two passes
# kind: graph_freed
# quiet: true

import torch
x = torch.ones(4, requires_grad=True)
s = x.view(2, 2).mean()
for _ in range(3):
    if x.grad is not None:
        x.grad.zero_()
    s.backward()
assert x.grad.sum() == 1
