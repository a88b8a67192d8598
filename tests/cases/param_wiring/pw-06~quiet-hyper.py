# title: A weight that another network makes, and a layer without parameters in forward
# kind: param_wiring
# quiet: true

import torch
class Hyper(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gen = torch.nn.Linear(2, 4)
    def forward(self, x):
        weight = self.gen(x.mean(0)).view(2, 2)
        y = torch.nn.functional.linear(x, weight)
        return torch.nn.Dropout(0.1)(torch.nn.ReLU()(y))
net = Hyper()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(3, 2)).sum().backward()
    opt.step()
