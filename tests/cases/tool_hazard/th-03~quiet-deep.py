# title: A deep graph is made, differentiated and let go of
# kind: tool_hazard
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
y = w
for _ in range(2500):
    y = torch.sin(y) if y.sum() < 1 else y * 0.999
y.sum().backward()
del y
assert w.grad is not None
