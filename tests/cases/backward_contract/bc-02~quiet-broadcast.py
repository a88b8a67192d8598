# title: in-place changes of a gradient may broadcast
# kind: backward_contract
# quiet: true

import torch
net = torch.nn.Linear(3, 2)
net(torch.ones(4, 3)).sum().backward()
for param in net.parameters():
    param.grad *= torch.ones(1)
    param.grad.add_(torch.zeros(param.shape[-1]))
    param.grad = param.grad.clone()
