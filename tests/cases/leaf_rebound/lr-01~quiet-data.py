# title: Updates through .data, and a new Parameter for a module
# kind: leaf_rebound
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
net = torch.nn.Linear(2, 1)
for _ in range(3):
    w.grad = None
    net.zero_grad()
    net(w * w).sum().backward()
    w.data = w.data - 0.1 * w.grad
    with torch.no_grad():
        net.weight = torch.nn.Parameter(net.weight - 0.1 * net.weight.grad)
