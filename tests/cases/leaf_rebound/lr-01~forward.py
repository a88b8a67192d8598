# title: What a net computes takes the name of its input
# kind: leaf_rebound
# variable: x
# says: this line computes a new tensor, and `x` no longer names the leaf
# fix: x2 = net(x); x2.sum().backward()

import torch
net = torch.nn.Linear(3, 3)
x = torch.ones(2, 3, requires_grad=True)
x = net(x)  #! cause
x.sum().backward()
print(x.grad)  #! symptom
# === fixed
import torch
net = torch.nn.Linear(3, 3)
x = torch.ones(2, 3, requires_grad=True)
x2 = net(x)
x2.sum().backward()
print(x.grad)
# === check
assert x.grad.shape == (2, 3)
