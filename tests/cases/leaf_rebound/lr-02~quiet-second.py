# title: A second name of the weight is moved on, the weight is trained in place
# kind: leaf_rebound
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
for _ in range(3):
    ahead = w
    (w ** 2).sum().backward()
    ahead = ahead - 0.1 * w.grad
    with torch.no_grad():
        w -= 0.05 * w.grad
    w.grad = None
