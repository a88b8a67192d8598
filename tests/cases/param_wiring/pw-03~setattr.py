# title: Learnable scales are set one by one with setattr
# kind: param_wiring
# variable: net.scale0
# says: net.scale0 and net.scale1 get gradients, but the optimizer does not have them.
# fix: torch.nn.Parameter around what setattr sets

import torch
class Net(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n, self.lin = n, torch.nn.Linear(3, 3)
        for i in range(n):
            setattr(self, f"scale{i}", torch.ones(3, requires_grad=True))  #! cause
    def forward(self, x):
        for i in range(self.n):
            x = self.lin(x) * getattr(self, f"scale{i}")
        return x
net = Net(2)
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(4, 3)).square().mean().backward()
    opt.step()  #! symptom
# === fixed
import torch
class Net(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n, self.lin = n, torch.nn.Linear(3, 3)
        for i in range(n):
            setattr(self, f"scale{i}", torch.nn.Parameter(torch.ones(3)))
    def forward(self, x):
        for i in range(self.n):
            x = self.lin(x) * getattr(self, f"scale{i}")
        return x
net = Net(2)
opt = torch.optim.Adam(net.parameters())
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(4, 3)).square().mean().backward()
    opt.step()
# === check
assert len(list(net.parameters())) == 4
