# title: clones of chunks, and chunks under no_grad
# kind: view_inplace_forbidden
# quiet: true

import torch
class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 4)
    def forward(self, x):
        a, b = (part.clone() for part in self.lin(x).chunk(2, dim=1))
        return a.sigmoid_() * b.tanh_()
net = Gate()
net(torch.ones(1, 2)).sum().backward()
with torch.no_grad():
    for half in net.lin.weight.chunk(2):
        half.zero_()
