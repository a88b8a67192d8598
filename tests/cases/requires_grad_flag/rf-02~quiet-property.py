# title: A module class that defines such a property itself
# kind: requires_grad_flag
# quiet: true

import torch
class Freezable(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)
    @property
    def requires_grad(self):
        return all(p.requires_grad for p in self.parameters())
    @requires_grad.setter
    def requires_grad(self, value):
        for p in self.parameters():
            p.requires_grad_(value)
net = Freezable()
net.requires_grad = False
assert not net.lin.weight.requires_grad
