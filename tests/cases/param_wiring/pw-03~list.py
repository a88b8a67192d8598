# title: Layers in a plain list: the module does not see them
# kind: param_wiring
# variable: net.layers
# says: the layers get gradients that no optimizer uses.
# fix: nn.ModuleList

import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 1)
        self.layers = [nn.Linear(2, 2) for _ in range(3)]  #! cause
    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x)
net = Net()
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(4, 2)).mean().backward()
    opt.step()  #! symptom
