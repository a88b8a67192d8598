# title: Truncated backpropagation through time
# kind: carried_state
# quiet: true

import torch
cell = torch.nn.RNNCell(2, 2)
h = torch.zeros(1, 2)
loss = 0
for t in range(6):
    h = cell(torch.ones(1, 2), h)
    loss = loss + h.sum()
    if t % 2:
        cell.zero_grad()
        loss.backward()
        h, loss = h.detach(), 0
