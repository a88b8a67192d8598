# title: Checkpointing without reentrance
# kind: unreached_param
# quiet: true

import torch
from torch.utils.checkpoint import checkpoint
block = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
batch = torch.rand(2, 3)
checkpoint(block, batch, use_reentrant=False).sum().backward()
print(block[0].weight.grad)
