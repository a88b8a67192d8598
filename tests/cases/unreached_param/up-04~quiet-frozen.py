# title: The adapter is trained through a module that no optimizer has
# kind: unreached_param
# quiet: true

import torch
adapter, body = torch.nn.Linear(3, 3), torch.nn.Linear(3, 2)
opt = torch.optim.SGD(adapter.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    body(adapter(torch.ones(4, 3))).pow(2).mean().backward()
    opt.step()
