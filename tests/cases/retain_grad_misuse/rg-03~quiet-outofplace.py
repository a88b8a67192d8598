# title: Hook and retained gradient of a value that stays as it is
# kind: retain_grad_misuse
# quiet: true

import torch
v = torch.full((2,), 3., requires_grad=True) + 0.
log = []
v.register_hook(lambda g: log.append(g.tolist()))
v.retain_grad()
u = v / 4
u.add_(1)
u.sum().backward()
assert log == [v.grad.tolist()]
