# title: A moved tensor of which the gradient is kept on purpose
# kind: hidden_leaf
# quiet: true

import torch
x = torch.ones(4, requires_grad=True).double()
x.retain_grad()
z = x.clone()
(z ** 2).sum().backward()
assert x.grad.tolist() == [2.] * 4
