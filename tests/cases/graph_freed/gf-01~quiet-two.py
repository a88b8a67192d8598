# title: Two losses of one hidden layer, the first backward retains the graph
# kind: graph_freed
# quiet: true

import torch
net = torch.nn.Linear(2, 3)
for _ in range(4):
    net.zero_grad()
    hid = torch.sigmoid(net(torch.ones(4, 2)))
    first, second = (hid ** 2).sum(), hid.exp().sum()
    first.backward(retain_graph=True)
    second.backward()
