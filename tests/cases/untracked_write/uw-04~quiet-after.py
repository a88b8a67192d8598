# title: Weights are clipped and shrunk by hand after the last pass over the graph that saved them
# kind: untracked_write
# quiet: true

import torch
class Critic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 1)
    def clip(self):
        for p in self.parameters():
            p.data.clamp_(-0.1, 0.1)
critic = Critic()
opt = torch.optim.RMSprop(critic.parameters(), lr=0.01)
for _ in range(3):
    opt.zero_grad()
    score = critic.fc(torch.ones(2, 3)).square().mean()
    score.backward(retain_graph=True)
    opt.step()
    critic.clip()
print(score)
