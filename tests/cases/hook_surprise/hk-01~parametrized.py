# title: each read of a parametrized weight computes it anew
# kind: hook_surprise
# variable: lin.weight

import torch
from torch.nn.utils.parametrizations import weight_norm
lin = weight_norm(torch.nn.Linear(2, 2))
norms = []
lin.weight.register_hook(lambda g: norms.append(g.norm()))  #! cause
lin(torch.ones(1, 2)).sum().backward()
print(norms)  #! symptom
