# title: a hook on the flat view of an activation that works in place later
# kind: hook_surprise
# variable: flat

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 4)
        self.act = torch.nn.ReLU(inplace=True)
        self.seen = []
    def forward(self, x):
        h = self.lin(x)
        flat = h.view(-1)
        flat.register_hook(lambda g: self.seen.append(g))
        self.act(h)  #! cause
        return flat.sum()
net = Net()
for _ in range(2):
    net(torch.ones(1, 2)).backward()
print(net.seen)  #! symptom
