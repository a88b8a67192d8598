# title: Layers in an object that is no module
# kind: param_wiring
# variable: net.gate
# says: what net.gate holds gets gradients, but opt does not have it: a Gate is no module.
# fix: class Gate(torch.nn.Module)

import torch
class Gate:
    def __init__(self, size):
        self.lin = torch.nn.Linear(size, size)
    def open(self, x):
        return x * self.lin(x).sigmoid()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(2, 2)
        self.gate = Gate(2)  #! cause
    def forward(self, x):
        return self.gate.open(self.first(x))
# %%
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(4, 2)).mean().backward()
    opt.step()  #! symptom
