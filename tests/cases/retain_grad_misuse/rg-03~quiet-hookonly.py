# title: The hook is set after the writes, and the gradient kept
# kind: retain_grad_misuse
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
v = w * 2
v.add_(1).mul_(2)
handle = v.register_hook(lambda g: g * 1)
v.retain_grad()
v.sum().backward()
handle.remove()
print(v.grad)
