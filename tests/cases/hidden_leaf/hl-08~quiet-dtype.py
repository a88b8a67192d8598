# title: The type is given to the constructor, and a clone is retained
# kind: hidden_leaf
# quiet: true

import torch
x = torch.ones(4, dtype=torch.double, requires_grad=True)
y = torch.nn.Parameter(torch.ones(4).double())
z = x.clone()
z.retain_grad()
(z * y).sum().backward()
print(x.grad, y.grad, z.grad)
