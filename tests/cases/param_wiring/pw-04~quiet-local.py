# title: The computed weight has a name of its own
# kind: param_wiring
# quiet: true

import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))
    def forward(self, x):
        w = torch.softmax(self.w, 0)
        self.soft = w
        return x * w
M()(torch.ones(3)).sum().backward()
