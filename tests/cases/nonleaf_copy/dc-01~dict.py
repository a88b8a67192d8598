# title: a dict with a computed tensor is copied
# kind: nonleaf_copy
# variable: loss
# raises: RuntimeError

import copy
import torch
w = torch.ones(2, requires_grad=True)
best = None
for k in range(2):
    loss = (w * k).sum()  #! cause
    state = {"step": k, "loss": loss}
    best = copy.deepcopy(state)  #! symptom
