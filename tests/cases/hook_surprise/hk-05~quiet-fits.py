# title: hooks that return None or a gradient of the same shape
# kind: hook_surprise
# quiet: true

import torch
x = torch.ones(1, 3, requires_grad=True)
y = x * 2
y.register_hook(lambda g: g[0].expand_as(g))
y.register_hook(lambda g: None)
x.register_hook(lambda g: g.clamp(max=1))
y.sum().backward()
