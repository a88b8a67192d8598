# title: A hard sigmoid of a net whose bias is far off
# kind: degenerate_grad
# variable: net.0.weight
# says: All that goes into it lies outside the bounds, and nothing before it gets a gradient.
# fix: normalise what goes in, or use a sigmoid
# note: for information only: an activation leaves its flat ends again as other layers move.

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Hardsigmoid(), torch.nn.Linear(3, 1))
torch.nn.init.constant_(net[0].bias, 40.)
x = torch.ones(5, 2)
# %%
net(x).mean().backward()  #! cause symptom
print(net[0].weight.grad)
