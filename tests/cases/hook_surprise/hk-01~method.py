# title: a reshaped copy in a method, each round of a loop
# kind: hook_surprise
# variable: self.w.flatten().clone()

import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2, 2))
    def watch(self, log):
        self.w.flatten().clone().register_hook(log.append)  #! cause
    def forward(self, x):
        return (x @ self.w).sum()
model, log = Model(), []
for _ in range(2):
    model.watch(log)
    model(torch.ones(1, 2)).backward()
print(log)  #! symptom
