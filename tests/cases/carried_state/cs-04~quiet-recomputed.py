# title: The graph is kept for a look at gradients, the state starts anew
# kind: carried_state
# quiet: true

import torch
cell = torch.nn.RNNCell(2, 2)
for epoch in range(4):
    h = torch.zeros(1, 2)
    for t in range(3):
        h = cell(torch.ones(1, 2), h)
    cell.zero_grad()
    h.sum().backward(retain_graph=True)
    g, = torch.autograd.grad(h.sum(), cell.weight_ih)
