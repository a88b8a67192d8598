# title: Reentrant checkpointing inside a module, of a batch that needs no gradient
# kind: unreached_param
# variable: x
# says: checkpoint goes by its inputs: x does not require grad.
# fix: use_reentrant=False

import torch
from torch.utils import checkpoint as cp
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 3)
        self.head = torch.nn.Linear(3, 1)
    def forward(self, x):
        x = x.mul(2)  #! cause
        h = cp.checkpoint(self.body, x, use_reentrant=True)
        return self.head(h)
net = Net()
net(torch.rand(2, 3)).sum().backward()
print(net.body.weight.grad)  #! symptom
