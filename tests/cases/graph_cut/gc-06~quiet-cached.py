# title: Features are computed once, under no_grad, in the cell before
# kind: graph_cut
# quiet: true

import torch
back, head = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
opt = torch.optim.Adam([*back.parameters(), *head.parameters()])
with torch.no_grad():
    feats = back(torch.ones(5, 4))
# %%
for _ in range(2):
    opt.zero_grad()
    head(feats).mean().backward()
    opt.step()
