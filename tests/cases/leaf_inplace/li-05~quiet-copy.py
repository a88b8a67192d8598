# title: A copy of a row is changed, and put back under no_grad
# kind: leaf_inplace
# quiet: true

import torch
lin = torch.nn.Linear(4, 2)
row = lin.weight[0].clone()
row.mul_(0.5)
print(row.sum())
with torch.no_grad():
    lin.weight[0].copy_(row)
lin(torch.ones(1, 4)).sum().backward()
