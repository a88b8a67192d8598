# title: An in-place clamp in the forward of a module, on what tanh saved
# kind: saved_tensor_mutated
# variable: y
# says: TanhBackward0 saved its result `y`; clamp_ changed it.
# fix: y = y.clamp(-0.5, 0.5)
# raises: RuntimeError

import torch
class Squash(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)
    def forward(self, x):
        y = torch.tanh(self.lin(x))
        y.clamp_(-0.5, 0.5)  #! cause
        return y
for x in torch.ones(2, 1, 2):
    Squash()(x).sum().backward()  #! symptom
