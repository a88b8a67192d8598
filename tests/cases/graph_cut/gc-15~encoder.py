# title: An encoder runs under no_grad, and the optimizer has its parameters
# kind: graph_cut
# variable: enc.weight
# says: enc.weight and enc.bias get no gradient: the encoder runs under no_grad.
# fix: take the line out of the with block

import torch
enc, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
opt = torch.optim.Adam([*enc.parameters(), *head.parameters()], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    with torch.no_grad():  #! cause
        h = torch.relu(enc(torch.ones(2, 3)))
    loss = head(h).square().mean()
    loss.backward()
    opt.step()  #! symptom
# === fixed
import torch
enc, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
opt = torch.optim.Adam([*enc.parameters(), *head.parameters()], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    h = torch.relu(enc(torch.ones(2, 3)))
    loss = head(h).square().mean()
    loss.backward()
    opt.step()
# === check
assert enc.bias.grad is not None
