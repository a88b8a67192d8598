# title: Two optimizers over a shared encoder, each clearing before its own pass
# kind: grad_accumulation
# quiet: true

import torch
from torch import nn
torch.manual_seed(0)
encoder, actor, critic = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)
opt_a = torch.optim.Adam([*encoder.parameters(), *actor.parameters()], lr=1e-3)
opt_c = torch.optim.Adam([*encoder.parameters(), *critic.parameters()], lr=1e-3)
sched = torch.optim.lr_scheduler.StepLR(opt_a, 2)
for _ in range(6):
    obs = torch.randn(16, 4)
    h = encoder(obs)
    opt_c.zero_grad()
    critic(h).pow(2).mean().backward()
    opt_c.step()
    h = encoder(obs)
    opt_a.zero_grad()
    (-critic(h).detach() * actor(h).log_softmax(-1)[:, :1]).mean().backward()
    nn.utils.clip_grad_value_(actor.parameters(), 0.5)
    opt_a.step()
    sched.step()
