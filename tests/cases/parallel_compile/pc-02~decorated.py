# title: an index write, under a decorator, and the rate is zero
# kind: parallel_compile
# variable: hidden

import torch
import torch.nn.functional as F
@torch.compile(backend="aot_eager")
def mask(x, keep):
    hidden = F.dropout(x, 0.0)  #! cause
    hidden[~keep] = 0
    return hidden.mean()
x = torch.ones(3)
mask(x, torch.tensor([True, False, True]))
print(x)  #! symptom
