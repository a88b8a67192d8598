# title: Made at the first call only, and before the optimizer
# kind: param_wiring
# quiet: true

import torch
class Lazy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = None
    def forward(self, x):
        if self.lin is None:
            self.lin = torch.nn.Linear(x.shape[1], 1)
        return self.lin(x)
net = Lazy()
net(torch.ones(1, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(1, 3)).sum().backward()
    opt.step()
