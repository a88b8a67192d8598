# title: a generator with weight_norm in its layers, copied after a step
# kind: nonleaf_copy
# variable: gen.conv.weight
# raises: RuntimeError

import copy
import torch
from torch.nn.utils import weight_norm
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = weight_norm(torch.nn.Linear(2, 2))  #! cause
    def forward(self, x):
        return self.conv(x)
gen = Block()
gen(torch.ones(1, 2)).sum().backward()
# %%
gen(torch.ones(1, 2)).sum().backward()
ema = copy.deepcopy(gen)  #! symptom
