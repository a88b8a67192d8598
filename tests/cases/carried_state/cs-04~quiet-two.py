# title: Two losses of one forward, in each step
# kind: carried_state
# quiet: true

import torch
net = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(5):
    y = net(torch.ones(3, 2)).tanh()
    opt.zero_grad()
    y.sum().backward(retain_graph=True)
    y.pow(2).mean().backward()
    opt.step()
