# title: The gradient of something linear is used as a value
# kind: graph_cut
# quiet: true

import torch
x = torch.ones(3, requires_grad=True)
g, = torch.autograd.grad((x * 2).sum(), x, create_graph=True)
(g * x).sum().backward()
assert x.grad.tolist() == [2, 2, 2]
