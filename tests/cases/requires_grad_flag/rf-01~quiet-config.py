# title: A settings object that is no tensor has flags of its own names
# kind: requires_grad_flag
# quiet: true

import torch
from dataclasses import dataclass
@dataclass
class Settings:
    require_grad: bool = True
class Layer(torch.nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.require_grad = settings.require_grad
        self.needs_grad = self.require_grad
        self.lin = torch.nn.Linear(2, 2)
        self.lin.requires_grad_(settings.require_grad)
settings = Settings()
settings.require_grad = False
layer = Layer(settings)
assert not layer.lin.weight.requires_grad
