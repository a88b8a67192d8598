# title: A slice under no_grad is made a leaf on purpose: its own gradient is wanted
# kind: grad_mode
# quiet: true

import torch
image = torch.rand(3, 4, requires_grad=True)
with torch.no_grad():
    patch = image[:2]
patch.requires_grad_()
patch.exp().sum().backward()
print(patch.grad)
