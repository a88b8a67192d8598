# title: An object on the module holds parts of the module, and only some are trained
# kind: param_wiring
# quiet: true

import torch
class Schedule:
    def __init__(self, owner):
        self.owner, self.stages = owner, [owner.first, owner.last]
        self.now = owner.last
class Net(torch.nn.Module):
    def __init__(s):
        super().__init__()
        s.first, s.last = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
        s.schedule, s.order = Schedule(s), [s.first, s.last]
    def forward(s, x):
        for stage in s.order:
            x = stage(x)
        return x
net = Net()
opt = torch.optim.SGD(net.schedule.now.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(4, 2)).mean().backward()
    opt.step()
