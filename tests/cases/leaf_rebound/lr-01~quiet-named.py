# title: Results have names of their own, or the leaf has a second one
# kind: leaf_rebound
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
x = torch.ones(2, 3, requires_grad=True)
first = x
for layer in net:
    x = layer(x)
x = x @ torch.ones(3, 1)
x.sum().backward()
print(first.grad)
loss = torch.zeros((), requires_grad=True)
for i in range(3):
    loss = loss + (first * i).sum()
loss.backward()
