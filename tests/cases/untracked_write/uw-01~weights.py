# title: Weights are clipped between forward and backward
# kind: untracked_write
# variable: p
# says: The graph saved the weights, and the clipping through .data is not counted.
# fix: Clip after backward.

import torch
critic = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
opt = torch.optim.RMSprop(critic.parameters())
for step in range(3):
    opt.zero_grad()
    loss = critic(torch.randn(4, 2)).mean()
    for p in critic.parameters():
        p.data.clamp_(-0.01, 0.01)  #! cause
    loss.backward()  #! symptom
    opt.step()
