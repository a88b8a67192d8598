# title: A chain of in-place calls on a copy, and on a computed tensor
# kind: leaf_inplace
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
(w.clone().mul_(2).add_(1).sum() + (w * 2).add_(1).relu_().sum()).backward()
