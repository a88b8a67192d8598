# title: Inputs that require grad only for a penalty, and are never asked for theirs
# kind: hidden_leaf
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
x = torch.rand(6, requires_grad=True).view(3, 2)
out = net(x).sum()
grad, = torch.autograd.grad(out, x, create_graph=True)
(out + grad.square().sum()).backward()
print(net.weight.grad)
