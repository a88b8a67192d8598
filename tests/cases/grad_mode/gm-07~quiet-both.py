# title: A view is trained by itself, and what it was taken of by its own loss
# kind: grad_mode
# quiet: true

import torch
w = torch.nn.Parameter(torch.ones(4))
with torch.no_grad():
    probe = w[:2].clone()
probe.requires_grad_()
(probe.sum() + w.square().sum()).backward()
print(probe.grad, w.grad)
