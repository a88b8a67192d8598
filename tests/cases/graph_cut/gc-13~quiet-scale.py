# title: A loss divided by its own value, a gradient clipped by a number
# kind: graph_cut
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
a, b = (w ** 2).sum(), (3 * w).sum()
(a / a.item() + b / b.detach()).backward()
norm = w.grad.norm().item()
with torch.no_grad():
    w -= 0.1 * w.grad * min(1.0, 1.0 / norm)
print(w)
