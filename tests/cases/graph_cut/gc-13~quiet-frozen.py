# title: A frozen body below a head that is trained
# kind: graph_cut
# quiet: true

import torch
body, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
body.requires_grad_(False)
opt = torch.optim.SGD(head.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    head(body(torch.ones(2, 3)).relu()).square().mean().backward()
    opt.step()
