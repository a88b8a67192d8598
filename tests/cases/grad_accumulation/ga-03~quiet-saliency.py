# title: Gradients of the input, between steps of training
# kind: grad_accumulation
# quiet: true

import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def gradients(x):
    opt.zero_grad()
    net(x).sum().backward()

maps = []
for _ in range(6):
    x = torch.randn(2, 3, requires_grad=True)
    gradients(x)
    maps.append(x.grad.abs())
for _ in range(2):
    gradients(torch.randn(2, 3))
    opt.step()
