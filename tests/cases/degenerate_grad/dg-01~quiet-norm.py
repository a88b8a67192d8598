# title: The norm functions of torch know what to do at zero
# kind: degenerate_grad
# quiet: true

import torch
d = torch.zeros(1, 3, requires_grad=True)
e = torch.zeros(2, requires_grad=True)
length = d.norm(dim=1).sum() + torch.linalg.vector_norm(e) + torch.nn.functional.normalize(d).sum()
length.backward()
assert d.grad.isfinite().all() and e.grad.isfinite().all()
