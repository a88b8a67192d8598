# title: Rows of the gradient are changed, not of the weight
# kind: leaf_inplace
# quiet: true

import torch
head = torch.nn.Linear(3, 5)
head(torch.ones(2, 3)).logsumexp(-1).sum().backward()
head.weight.grad[3:].zero_()
head.bias.grad[3:] = 0
for p in head.parameters():
    p.grad.div_(p.grad.norm())
torch.optim.SGD(head.parameters(), 0.1).step()
