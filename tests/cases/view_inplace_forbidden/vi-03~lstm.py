# title: the gates of an LSTM cell, in a module
# kind: view_inplace_forbidden
# variable: f
# raises: RuntimeError

import torch
class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 8)
    def forward(self, x, c):
        gates = self.lin(x)
        i, f, g, o = torch.split(gates, 2, dim=1)  #! cause
        f.add_(1.0)  #! symptom
        return torch.sigmoid(f) * c + torch.sigmoid(i) * g.tanh() * o
Cell()(torch.ones(1, 2), torch.zeros(1, 2))
