# title: Activations and effective weights kept on the module
# kind: param_wiring
# quiet: true

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = torch.nn.Parameter(torch.zeros(2, 2))
        self.lin = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    def forward(self, x):
        self.weight = torch.nn.functional.softplus(self.raw)
        self.last = self.lin(x) @ self.weight
        return self.last
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
