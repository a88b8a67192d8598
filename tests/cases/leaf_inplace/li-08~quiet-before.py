# title: In place before the tensor is made to require grad
# kind: leaf_inplace
# quiet: true

import torch
x = torch.tensor([1., 2., 3.])
x += 1
x.requires_grad_()
y = x + 1
y += 1
(y * y).sum().backward()
x.requires_grad_(False)
x += 1
x.requires_grad_(True)
