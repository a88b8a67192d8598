# title: Outputs are kept in a dict, under a number
# kind: memory_retention
# variable: kept
# says: `kept` holds tensors with their graphs.
# fix: kept[i] = val.detach()
# torch: no error, no warning

import torch
scale = torch.ones(50, requires_grad=True)
kept = {}
i = 0
while i < 4:
    val = (scale * i).tanh()
    kept[i] = val  #! cause
    i += 1
print(sum(v.requires_grad for v in kept.values()))  #! symptom
