# title: Frozen for a look at the output, and thawed before the loss
# kind: graph_cut
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
for p in net.parameters():
    p.requires_grad = False
print(net(torch.ones(1, 3)).shape, net(torch.ones(1, 3)).requires_grad)
for p in net[-1].parameters():
    p.requires_grad = True
net(torch.ones(2, 3)).sum().backward()
print(net[-1].bias.grad)
