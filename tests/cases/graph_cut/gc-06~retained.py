# title: Adversarial perturbation: the input is detached on the way
# kind: graph_cut
# variable: delta
# says: delta.grad is None: the clamp is detached at line 4.
# fix: without .detach()

import torch
net = torch.nn.Linear(3, 1)
delta = torch.zeros(3, requires_grad=True)
adv = (torch.ones(3) + delta).clamp(0, 1).detach()  #! cause
for _ in range(2):
    net.zero_grad()
    net(adv).sum().backward()
print(delta.grad)  #! symptom
