# title: An activation is thresholded as an array inside a method
# kind: untracked_write
# variable: raw
# says: `raw` is the memory of `h`, which sigmoid saved.
# fix: raw = h.detach().numpy().copy()

import torch
class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 3)
    def forward(self, x):
        h = self.lin(x).sigmoid()
        raw = h.detach().numpy()
        raw[raw < 0.9] = 0  #! cause
        return h.sum()
gate = Gate()
gate(torch.ones(1, 2)).backward()  #! symptom
