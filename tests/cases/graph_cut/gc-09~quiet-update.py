# title: .data to clip, to initialize and to copy
# kind: graph_cut
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
net.weight.data.fill_(0.5)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(3, 2)).mean().backward()
    opt.step()
    net.weight.data.clamp_(-1, 1)
print(net.weight.data.norm(), net.weight.grad)
