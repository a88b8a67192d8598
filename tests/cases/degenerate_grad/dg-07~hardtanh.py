# title: A mask squeezed by relu6, whose scores all start beyond it
# kind: degenerate_grad
# variable: gate.scores
# says: All elements of scores lie outside the bounds of `relu6`.
# fix: a sigmoid, or scores clamped under no_grad after each step

import torch
import torch.nn.functional as F
class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = torch.nn.Parameter(torch.tensor([7., 8., 11.]))
    def forward(self, x):
        return x * F.relu6(self.scores) / 6  #! cause
gate = Gate()
# %%
out = gate(torch.arange(1., 4.))
out.sum().backward()  #! symptom
print(gate.scores.grad)
