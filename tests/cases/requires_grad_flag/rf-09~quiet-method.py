# title: The method is called, the property is read
# kind: requires_grad_flag
# quiet: true

import torch
x = torch.ones(2).requires_grad_()
net = torch.nn.Linear(2, 1)
net.requires_grad_(x.requires_grad)
assert x.is_leaf and not x.retains_grad
y = net(x)
y.retain_grad()
y.backward()
assert y.retains_grad
