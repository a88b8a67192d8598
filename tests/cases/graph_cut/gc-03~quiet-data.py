# title: Inputs and targets from lists of numbers
# kind: graph_cut
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
rows = [[0.0, 1.0], [1.0, 0.0]]
x = torch.as_tensor(rows)
y = torch.as_tensor([net.weight.numel(), 3.0]).unsqueeze(1)
(net(x) - y).square().mean().backward()
print(net.weight.grad)
