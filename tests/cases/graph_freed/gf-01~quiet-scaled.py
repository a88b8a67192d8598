# title: A weight scaled in its own line, and used for one pass only
# kind: graph_freed
# quiet: true

import torch
W = torch.ones(3, 2, requires_grad=True) * 0.1
((torch.ones(4, 3) @ W) ** 2).mean().backward()
