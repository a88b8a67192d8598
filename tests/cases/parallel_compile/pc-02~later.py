# title: what was dropped out is read again after the write
# kind: parallel_compile
# variable: y

import torch
from torch.nn.functional import dropout
def residual(x):
    h = x.exp()
    y = dropout(h, 0.2, False)  #! cause
    y += 1
    return (y * h).sum()
fast = torch.compile(residual, backend="aot_eager")
print(residual(torch.ones(2)), fast(torch.ones(2)))  #! symptom
