# title: Buffers that are refreshed after backward, or read as numbers
# kind: saved_tensor_mutated
# quiet: true

import torch
lin, bn, buf = torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.ones(2)
for step in range(3):
    x = torch.randn(4, 2)
    loss = bn(lin(x) * buf).pow(2).sum() * float(buf[0])
    loss.backward()
    buf.mul_(0.5)
