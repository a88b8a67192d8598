# title: Truncated backpropagation with one detach for each chunk
# kind: carried_state
# quiet: true

import torch
cell = torch.nn.GRUCell(2, 2)
h = torch.zeros(1, 2)
for chunk in torch.ones(6, 1, 2).split(3):
    h = h.detach()
    for x in chunk:
        h = cell(x, h)
    cell.zero_grad()
    h.sum().backward()
