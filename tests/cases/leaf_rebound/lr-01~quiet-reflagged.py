# title: A new leaf is made on purpose in each step
# kind: leaf_rebound
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
for _ in range(3):
    (w * w).sum().backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
    w.requires_grad_()
    w = (w * 1.0).detach().requires_grad_()
old = w.detach()
new = old - 0.1
