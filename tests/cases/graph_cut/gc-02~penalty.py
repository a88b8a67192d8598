# title: Regularizers of all layers gathered with torch.tensor in a method of the module
# kind: graph_cut
# variable: total
# says: torch.tensor copied the numbers of the penalties: they have no effect on any gradient.
# fix: torch.stack

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
    def forward(self, x):
        return self.b(self.a(x).relu())
    def penalty(self):
        parts = [m.weight.pow(2).mean() for m in (self.a, self.b)]
        total = torch.tensor(parts)  #! cause
        return total.sum()
# %%
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    loss = net(torch.ones(4, 3)).mean() + 0.01 * net.penalty()
    loss.backward()  #! symptom
    opt.step()
