# title: A module freezes its encoder in __init__
# kind: requires_grad_flag
# variable: self.encoder
# says: the encoder is a module; its parameters stay trainable.

import torch
class Probe(torch.nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.encoder.requires_grad = False  #! cause
        self.head = torch.nn.Linear(3, 1)
    def forward(self, x):
        return self.head(self.encoder(x))
probe = Probe(torch.nn.Linear(2, 3))
probe(torch.ones(1, 2)).sum().backward()
print(sum(p.requires_grad for p in probe.parameters()))  #! symptom
