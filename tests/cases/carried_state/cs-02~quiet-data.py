# title: States are carried as data
# kind: carried_state
# quiet: true

import torch
cell = torch.nn.LSTMCell(2, 2)
state = None
for _ in range(4):
    state = cell(torch.ones(1, 2), state)
    state[0].sum().backward()
    state = tuple(s.data for s in state)
    cell.zero_grad()
