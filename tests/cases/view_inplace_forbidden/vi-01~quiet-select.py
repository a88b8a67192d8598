# title: single rows by index may be written
# kind: view_inplace_forbidden
# quiet: true

import torch
imgs = torch.ones(2, 3, requires_grad=True) * 2
for k in range(len(imgs)):
    imgs[k].sub_(1).div_(2)
imgs.sum().backward()
