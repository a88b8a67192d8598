# title: A layer that comes in from the third epoch on, and a pooler nobody needs
# kind: unreached_param
# quiet: true

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.late = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
        self.pooler = torch.nn.Linear(2, 2)
    def forward(self, x, epoch):
        x = self.a(x)
        return self.late(x) if epoch > 1 else x
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(4):
    opt.zero_grad()
    net(torch.ones(1, 2), epoch).sum().backward()
    for p in net.parameters():
        if p.grad is None:
            continue
        p.grad.clamp_(-1, 1)
    opt.step()
