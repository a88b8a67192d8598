# title: The state is detached before each step
# kind: saved_tensor_mutated
# quiet: true

import torch
cell = torch.nn.RNNCell(2, 2)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(1, 2)
for _ in range(4):
    h = cell(torch.ones(1, 2), h.detach())
    opt.zero_grad()
    h.sum().backward()
    opt.step()
