# title: Kept after the first of two passes, and read after the second
# kind: retain_grad_misuse
# quiet: true

import torch
x = torch.ones(2, requires_grad=True)
y = x * 2
y.sum().backward(retain_graph=True)
y.retain_grad()
y.sum().backward()
assert y.grad.tolist() == [1., 1.]
