# title: An encoder that is held fixed in the first epoch, and trained from the second
# kind: graph_cut
# quiet: true

import torch
enc, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
opt = torch.optim.Adam([*enc.parameters(), *head.parameters()], lr=0.1)
for epoch in range(3):
    opt.zero_grad()
    with torch.set_grad_enabled(epoch > 0):
        h = torch.relu(enc(torch.ones(2, 3)))
    head(h).square().mean().backward()
    opt.step()
