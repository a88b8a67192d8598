# title: None, but of something else
# kind: grad_accumulation
# quiet: true
# raises: TypeError

import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
opt.zero_grad()
norm = None if net.weight.grad is None else net.weight.grad.norm()
history = {"loss": None}
history["loss"][0]
