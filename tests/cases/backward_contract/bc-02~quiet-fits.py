# title: gradients that fit, and None
# kind: backward_contract
# quiet: true

import torch
p = torch.nn.Parameter(torch.zeros(5))
p.grad = torch.ones(5)
p.grad = None
p.grad = (p.detach()[None] * 2).reshape(p.shape)
opt = torch.optim.SGD([p], lr=0.1)
opt.step()
