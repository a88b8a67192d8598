# title: An episode is collected while another network is trained
# kind: memory_retention
# quiet: true

import torch
actor, critic = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
opt = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=0.1)
scores = []
for x in torch.randn(4, 2):
    value = critic(x).pow(2).sum()
    value.backward()
    scores.append(actor(x).sum())
torch.stack(scores).mean().backward()
opt.step()
