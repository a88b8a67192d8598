# title: a cast for a look, which no gradient goes through
# kind: backward_contract
# quiet: true

import torch
def step(z):
    shown = z.detach().to(torch.float32)
    also = z.to(torch.float32).max().item()
    return z.abs().sum(), shown, also
z = torch.ones(2, dtype=torch.cfloat, requires_grad=True)
loss, *_ = step(z)
loss.backward()
