# title: Units that are off, a hinge, a clipped ratio and rounding passed straight through
# kind: degenerate_grad
# quiet: true

import torch
net = torch.nn.Linear(2, 3)
torch.nn.init.constant_(net.bias, -9.)
torch.relu(net(torch.ones(1, 2))).sum().backward()
w = torch.tensor([3., 4.], requires_grad=True)
(1 - w).clamp(min=0).sum().backward()
logp = torch.tensor([0.5, 0.9], requires_grad=True)
ratio = logp.exp()
(-torch.min(ratio, ratio.clamp(0.8, 1.2))).mean().backward()
x = torch.tensor([0.3, 1.6], requires_grad=True)
(x + (x.round() - x).detach()).sum().backward()
