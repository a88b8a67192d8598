# title: The layer is replaced first; or its parameters are added
# kind: param_wiring
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
net[1] = torch.nn.Linear(2, 3)
opt = torch.optim.SGD(net.parameters(), lr=1.0)
net.append(torch.nn.Linear(3, 1))
opt.add_param_group({"params": net[2].parameters(), "lr": 0.1})
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
