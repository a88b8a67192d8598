# title: Two losses before one step, an average of the weights, a frozen layer
# kind: grad_accumulation
# quiet: true

import copy
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
net[0].bias.requires_grad_(False)
ema = copy.deepcopy(net)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for _ in range(8):
    opt.zero_grad()
    out = net(torch.randn(5, 4))
    out[:, 0].pow(2).mean().backward(retain_graph=True)
    out[:, 1].abs().mean().backward()
    opt.step()
    with torch.no_grad():
        for slow, fast in zip(ema.parameters(), net.parameters()):
            slow.lerp_(fast, 0.1)
