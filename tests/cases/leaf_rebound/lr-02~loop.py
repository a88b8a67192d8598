# title: The variable of a loop over the parameters is rebound, and nothing is trained
# kind: leaf_rebound
# variable: p
# says: p is a new tensor; the parameters of the net stay as they were.
# fix: with torch.no_grad(): p -= 0.01 * p.grad

import torch
net = torch.nn.Linear(2, 1)
for _ in range(3):
    net.zero_grad()
    net(torch.ones(1, 2)).pow(2).sum().backward()
    for p in net.parameters():
        p = p - 0.01 * p.grad  #! cause symptom

# === fixed
import torch
net = torch.nn.Linear(2, 1)
before = net.bias.item()
for _ in range(3):
    net.zero_grad()
    net(torch.ones(1, 2)).pow(2).sum().backward()
    for p in net.parameters():
        with torch.no_grad():
            p -= 0.01 * p.grad

# === check
assert net.bias.item() != before
