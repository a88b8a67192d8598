# title: allow_unused=True is how one asks
# kind: unreached_param
# quiet: true

import torch
a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
loss = (a * c).sum()
found = torch.autograd.grad(loss, [a, b, c], allow_unused=True)
print([g is None for g in found])
