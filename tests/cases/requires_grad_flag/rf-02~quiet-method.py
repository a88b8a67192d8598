# title: Modules are frozen by the method, and thawed
# kind: requires_grad_flag
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
net[0].requires_grad_(False)
net.eval()
net(torch.ones(1, 2)).sum().backward()
assert net[0].weight.grad is None
net.train().requires_grad_(True)
net(torch.ones(1, 2)).sum().backward()

# === fixed
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
net[1].requires_grad_(False)
print([p.requires_grad for p in net[1].parameters()])

# === check
assert not any(p.requires_grad for p in net[1].parameters())
assert all(p.requires_grad for p in net[0].parameters())
