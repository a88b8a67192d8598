# title: A write through .data to what no node saved, and one after backward
# kind: untracked_write
# quiet: true

import torch
x = torch.tensor([1., 2.], requires_grad=True)
shifted = x + 1
shifted.data.zero_()
(shifted * 3).sum().backward()
y = x.exp()
y.sum().backward()
y.data.mul_(100)
