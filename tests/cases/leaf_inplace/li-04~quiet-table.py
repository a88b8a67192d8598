# title: A table is filled before it becomes a parameter
# kind: leaf_inplace
# quiet: true

import torch
def sinusoid(length, dim):
    table = torch.zeros(length, dim)
    at = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, dim, 2) / dim)
    table[:, 0::2], table[:, 1::2] = at.sin(), at.cos()
    return table
class Positions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fixed = torch.nn.Parameter(sinusoid(6, 4), requires_grad=False)
        self.learnt = torch.nn.Parameter(sinusoid(6, 4))
        self.register_buffer("kept", torch.zeros(6, 4))
        self.kept[:, ::2] = 1.
    def forward(self, x):
        return x + self.fixed + self.learnt + self.kept
Positions()(torch.ones(6, 4)).sum().backward()
