# title: A momentum encoder that the optimizer has with the rest, and that is updated by hand
# kind: graph_cut
# quiet: true

import torch
class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.key = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
    def forward(self, x):
        with torch.no_grad():
            key = self.key(x)
            for mine, other in zip(self.key.parameters(), self.online.parameters()):
                mine.mul_(0.9).add_(other, alpha=0.1)
        return (self.online(x) - key).square().mean()
pair = Pair()
opt = torch.optim.SGD(pair.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    pair(torch.ones(2, 3)).backward()
    opt.step()
