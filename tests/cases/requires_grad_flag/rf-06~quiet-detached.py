# title: What is detached is made a leaf, and a leaf is flagged again
# kind: requires_grad_flag
# quiet: true

import torch
a = torch.ones(2, requires_grad=True)
a.requires_grad_()
b = (a * 2).detach().requires_grad_()
with torch.no_grad():
    c = (a * 3)
c.requires_grad_(True)
d = torch.nn.Linear(2, 2).requires_grad_()
d(b + c + a).sum().backward()
assert b.grad is not None and c.grad is not None
