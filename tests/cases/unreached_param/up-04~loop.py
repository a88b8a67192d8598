# title: Blocks checkpointed one after another, the reentrant way
# kind: unreached_param
# variable: tokens
# says: checkpoint goes by its inputs: tokens does not require grad.
# fix: use_reentrant=False

import torch
from torch.utils.checkpoint import checkpoint
blocks = [torch.nn.Linear(3, 3) for _ in range(2)]
tokens = torch.rand(4, 3)  #! cause
def run(h):
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=True)
    return h
out = run(tokens)  #! symptom
