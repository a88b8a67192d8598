# title: where() inside of the function and outside of it
# kind: degenerate_grad
# quiet: true

import torch
u = torch.tensor([4., -9.], requires_grad=True)
inside = torch.where(u > 0, u, torch.ones_like(u))
root = torch.where(u > 0, inside.sqrt(), -u)
root.sum().backward()
assert u.grad.isfinite().all()
