# title: The model uses a constant in place of the trained temperature
# kind: unreached_param
# variable: temperature
# says: the loss was not computed from temperature.
# fix: use temperature

import torch
net = torch.nn.Linear(2, 3)
temperature = torch.nn.Parameter(torch.ones(()))  #! cause
opt = torch.optim.Adam([*net.parameters(), temperature], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    logits = net(torch.ones(4, 2)) / 1.0
    torch.nn.functional.cross_entropy(logits, torch.zeros(4, dtype=torch.long)).backward()
    opt.step()  #! symptom
