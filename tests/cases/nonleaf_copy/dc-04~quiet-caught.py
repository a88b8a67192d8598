# title: a library tries a computed tensor, and falls back
# kind: nonleaf_copy
# quiet: true

import torch
import torch.multiprocessing
from multiprocessing.reduction import ForkingPickler
def send(tensor):
    if tensor.requires_grad:
        tensor = tensor.detach()
    return ForkingPickler.dumps(tensor.tolist())
for k in range(2):
    send(torch.ones(2, requires_grad=True) * k)
