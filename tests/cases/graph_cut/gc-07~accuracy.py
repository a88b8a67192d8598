# title: Training on the error rate
# kind: graph_cut
# variable: wrong
# says: a comparison gives true and false: no gradient.
# fix: a soft comparison

import torch
class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))
    def forward(self, x):
        return x @ self.w
gate, y = Gate(), torch.tensor([1.0, 0.0])
logit = gate(torch.ones(2, 3))
wrong = ((logit > 0).float() != y).float()  #! cause
wrong.mean().backward()  #! symptom
