# title: a bias broadcast to the batch, written through an index
# kind: view_inplace_forbidden
# variable: rows
# raises: RuntimeError

import torch
class Shift(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(1, 3))
    def forward(self, n):
        rows = (self.bias * 1).broadcast_to(n, 3)  #! cause
        rows.mul_(torch.arange(float(n))[:, None])  #! symptom
        return rows
Shift()(4)
