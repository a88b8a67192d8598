# title: The flag of computed tensors is read, and set on inputs
# kind: requires_grad_flag
# quiet: true

import torch
def flags(*tensors):
    return [t.requires_grad for t in tensors]
net = torch.nn.Linear(2, 1)
x = torch.rand(3, 2)
x.requires_grad = True
out = net(x)
assert flags(x, out, out.detach()) == [True, True, False]
out.sum().backward()
x.grad.requires_grad_(False)
