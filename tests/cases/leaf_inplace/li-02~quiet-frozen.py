# title: Augmented assignment to buffers, detached copies and frozen tensors
# kind: leaf_inplace
# quiet: true

import torch
net = torch.nn.BatchNorm1d(3)
net.running_mean += 1
copy = net.weight.detach().clone()
copy *= 2
frozen = torch.nn.Parameter(torch.ones(2), requires_grad=False)
frozen -= 0.5
total = 0
for p in net.parameters():
    total += p.sum()
total.backward()
