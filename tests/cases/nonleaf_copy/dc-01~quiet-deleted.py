# title: the activation is deleted before the copy
# kind: nonleaf_copy
# quiet: true

import copy
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)
    def forward(self, x):
        self.last = self.lin(x)
        return self.last
net = Net()
net(torch.ones(1, 2)).sum().backward()
del net.last
target = copy.deepcopy(net)
