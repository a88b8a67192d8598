# title: a hook returns a number; another hook is right
# kind: hook_surprise
# variable: h
# raises: TypeError

import torch
class Probe(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)
        self.lin.weight.register_hook(lambda g: None)
    def forward(self, x):
        h = self.lin(x)
        h.register_hook(lambda g: g.norm().item())  #! cause
        return h
net = Probe()
for _ in range(2):
    net(torch.ones(1, 2)).sum().backward()  #! symptom
