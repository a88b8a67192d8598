# title: Both states of an LSTM are detached
# kind: carried_state
# quiet: true

import torch
cell = torch.nn.LSTMCell(2, 2)
h, c = torch.zeros(1, 2), torch.zeros(1, 2)
for _ in range(3):
    h, c = cell(torch.ones(1, 2), (h.detach(), c.detach()))
    h.sum().backward()
    cell.zero_grad()
