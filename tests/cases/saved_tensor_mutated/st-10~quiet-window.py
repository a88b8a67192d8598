# title: Backpropagation through all of a sequence, then one step
# kind: saved_tensor_mutated
# quiet: true

import torch
cell = torch.nn.RNNCell(2, 2)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
for epoch in range(3):
    h, loss = torch.zeros(1, 2), 0
    for t in range(4):
        h = cell(torch.ones(1, 2), h)
        loss = loss + h.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
