# title: The scale is a new parameter in each forward
# kind: param_wiring
# variable: scale
# says: forward makes a new parameter each time: it is never trained.
# fix: make it once in __init__

import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
    def forward(self, x):
        scale = nn.Parameter(torch.ones(2))  #! cause
        return self.lin(x) * scale
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()  #! symptom
