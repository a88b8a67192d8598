# title: The graph is kept within a window, then cut
# kind: carried_state
# quiet: true

import torch
cell = torch.nn.RNNCell(2, 2)
h = torch.zeros(1, 2)
for t in range(9):
    h = cell(torch.ones(1, 2), h)
    h.sum().backward(retain_graph=True)
    cell.zero_grad()
    if t % 3 == 2:
        h = h.detach()
