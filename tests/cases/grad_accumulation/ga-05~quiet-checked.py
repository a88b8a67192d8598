# title: Read before the clearing, or only where there is one
# kind: grad_accumulation
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(1, 2)).sum().backward()
print(net.weight.grad[0])
opt.zero_grad()
if net.weight.grad is not None:
    print(net.weight.grad[0])
norm = sum(p.grad.norm() for p in net.parameters() if p.grad is not None)
# %%
net(torch.ones(1, 2)).sum().backward()
opt.zero_grad(set_to_none=False)
print(net.weight.grad[0], net.bias.grad.norm())
