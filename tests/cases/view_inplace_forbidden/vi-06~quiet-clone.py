# title: a clone of an expanded tensor, and an expand that expands nothing
# kind: view_inplace_forbidden
# quiet: true

import torch
g = torch.ones(3, 1, requires_grad=True) * 1.0
img = g.expand(3, 4).clone()
img.add_(1)
same = (g * 1).expand(3, 1)
same.add_(1)
(img.sum() + same.sum()).backward()
