# title: tensors of one element are scalars enough, whatever their shape
# kind: backward_contract
# quiet: true

import torch
def step(w):
    loss = (w * 2).sum().reshape(1, 1)
    loss.backward()
    (w[:1] ** 2).backward()
step(torch.ones(3, requires_grad=True))
