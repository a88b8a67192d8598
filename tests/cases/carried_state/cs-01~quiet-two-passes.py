# title: Two passes in each step, the state detached between steps
# kind: carried_state
# quiet: true

import torch
cell = torch.nn.GRUCell(2, 3)
head = torch.nn.Linear(3, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
h = torch.zeros(4, 3)
for step in range(5):
    h = cell(torch.ones(4, 2), h.detach())
    opt.zero_grad()
    head(h).mean().backward(retain_graph=True)
    h.pow(2).mean().backward()
    opt.step()
