# title: A parameter that is scaled where it is made
# kind: param_wiring
# variable: self.emb
# says: the product is a plain tensor: nothing is registered.
# fix: nn.Parameter around all of it

import torch
from torch import nn
class Prompt(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.proj = nn.Linear(4, 1)
        self.emb = nn.Parameter(torch.randn(n, 4)) * 0.02  #! cause
    def forward(self):
        return self.proj(self.emb)
# %%
p = Prompt(3)
opt = torch.optim.SGD(p.parameters(), lr=0.1)
p().sum().backward()
opt.step()  #! symptom
