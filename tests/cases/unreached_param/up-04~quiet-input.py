# title: Reentrant checkpointing of an embedded batch, and under no_grad
# kind: unreached_param
# quiet: true

import torch
from torch.utils.checkpoint import checkpoint
embed, block = torch.nn.Embedding(5, 3), torch.nn.Linear(3, 3)
h = embed(torch.tensor([0, 1]))
checkpoint(block, h, use_reentrant=True).sum().backward()
with torch.no_grad():
    print(block(h.detach()).mean())
print(block.weight.grad, embed.weight.grad)
