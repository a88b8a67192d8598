# title: the write comes first; or the loss was computed before it
# kind: hook_surprise
# quiet: true

import torch
x0 = torch.ones(2, requires_grad=True)
x = x0.clone(); v = x.view(2)
x.add_(1)
v = x.view(2)
v.register_hook(lambda g: g * 10)
v.sum().backward()
y = x0.clone(); u = y.view(2)
u.register_hook(lambda g: g * 10)
loss = u.sum()
y.add_(1)
loss.backward()
