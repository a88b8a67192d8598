# title: Only the head is in the optimizer; tied weights
# kind: param_wiring
# quiet: true

import torch
body, head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
net = torch.nn.Sequential(body, torch.nn.Tanh(), head)
head.weight = body.weight
opt = torch.optim.SGD([head.weight], lr=0.1)
net = net.to("cpu").float()
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(3, 2)).sum().backward()
    opt.step()
