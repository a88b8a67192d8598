# title: Data, modules and detached tensors are moved to the device
# kind: hidden_leaf
# quiet: true

import torch
device = torch.device("cpu")
net = torch.nn.Linear(3, 1).to(device)
x = torch.rand(4, 3).to(device)
y = torch.ones(4, 1).to(device, non_blocking=True)
start = torch.rand(3).to(device).requires_grad_()
named = torch.zeros(1, requires_grad=True)
moved = named.to(device)
out = net(x * start) + moved
(out - y).square().mean().to(device).backward()
assert start.grad is not None and named.grad is not None
