# title: A frozen backbone under no_grad, its head in the optimizer
# kind: graph_cut
# quiet: true

import torch
backbone, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
backbone.eval()
opt = torch.optim.SGD(head.parameters(), lr=0.1)
for _ in range(3):
    with torch.no_grad():
        feats = backbone(torch.ones(2, 3))
    opt.zero_grad()
    head(feats).square().mean().backward()
    opt.step()
print(head.weight.grad)
