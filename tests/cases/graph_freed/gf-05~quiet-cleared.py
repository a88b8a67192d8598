# title: The gradient is cleared between two passes over one graph
# kind: graph_freed
# quiet: true

import torch
x = torch.ones(3, requires_grad=True)
s = x.sum()
s.backward()
first = x.grad.clone()
x.grad = None
s.backward()
assert torch.equal(x.grad, first)
