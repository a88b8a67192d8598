# title: An update by hand gives the module a computed tensor
# kind: param_wiring
# variable: self.scale
# says: self.scale is a registered parameter; the result of the update cannot take its place.
# fix: with torch.no_grad(): self.scale -= ...

import torch
class Gain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(2))
    def forward(self, x):
        return x * self.scale
    def update(self, lr):
        self.scale = self.scale - lr * self.scale.grad  #! cause symptom
g = Gain()
g(torch.ones(2)).sum().backward()
g.update(0.1)
