# title: Optimizer built before the model was finished
# kind: param_wiring
# variable: opt
# says: net[1] was replaced after `opt` was made: the new layer has gradients that no optimizer
#     uses.
# fix: Create the optimizer last, or opt.add_param_group.
# torch: no error, no warning; prints: True True
# source: Lightning-AI/pytorch-lightning#19955

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=1.)
net[1] = torch.nn.Linear(2, 3)  #! cause
before = net[1].bias.clone()
net(torch.ones(1, 2)).sum().backward()
opt.step()  #! symptom
print(torch.equal(before, net[1].bias), net[1].bias.grad is not None)
# === fixed
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
net[1] = torch.nn.Linear(2, 3)
opt = torch.optim.SGD(net.parameters(), lr=1.)
before = net[1].bias.clone()
net(torch.ones(1, 2)).sum().backward()
opt.step()
# === check
assert not torch.equal(before, net[1].bias)
