# title: a module keeps its last activation; a copy for the moving average
# kind: nonleaf_copy
# variable: net.last
# raises: RuntimeError

import copy
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)
        self.last = None
    def forward(self, x):
        h = self.lin(x).relu()
        self.last = h  #! cause
        return h
def make_target(online):
    return copy.deepcopy(online)  #! symptom
net = Net()
net(torch.ones(1, 2)).sum().backward()
target = make_target(net)
