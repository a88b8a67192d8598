# title: Losses of a loop whose gradients are kept
# kind: nonleaf_grad_read
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
seen = []
for scale in (1., 2., 3.):
    loss = net(scale * torch.ones(1, 3)).square().mean()
    loss.retain_grad()
    loss.backward()
    seen.append(loss.grad.item())
    print(net[0].weight.grad.norm())
assert seen == [1.0, 1.0, 1.0]
