# title: Two heads, one for each task, in turn
# kind: unreached_param
# quiet: true

import torch
class Multi(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(2, 2)
        self.heads = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 1), "b": torch.nn.Linear(2, 1)})
    def forward(self, x, task):
        return self.heads[task](self.body(x))
net = Multi()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for task in ("a", "b", "a"):
    opt.zero_grad()
    net(torch.ones(1, 2), task).sum().backward()
    print([k for k, p in net.named_parameters() if p.grad is not None])
    opt.step()
