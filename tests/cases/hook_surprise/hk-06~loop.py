# title: a training function registers hooks on all parameters in each epoch
# kind: hook_surprise
# variable: p

import torch
def halve(g):
    return g * 0.5
class Trainer:
    def __init__(self):
        self.net = torch.nn.Linear(2, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
    def fit(self, epochs):
        for _ in range(epochs):
            for p in self.net.parameters():
                p.register_hook(halve)  #! cause
            self.opt.zero_grad()
            self.net(torch.ones(1, 2)).sum().backward()
            self.opt.step()  #! symptom
Trainer().fit(3)
