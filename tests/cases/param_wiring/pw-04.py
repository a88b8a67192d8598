# title: Re-assigning a parameter with a computed value in forward
# kind: param_wiring
# variable: self.w
# says: self.w is a registered Parameter; a computed tensor cannot take its place.
# fix: w = torch.softmax(self.w, 0) (local name)
# torch: TypeError (line 8, inside line 6): cannot assign 'torch.FloatTensor' as parameter 'w'
#     (torch.nn.Parameter or None expected)
# source: pytorch/pytorch#44022

import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.w = torch.nn.Parameter(torch.ones(3))
    def forward(self, x):
        self.w = torch.softmax(self.w, 0)  #! cause symptom
        return x * self.w
M()(torch.ones(3))
# === fixed
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.w = torch.nn.Parameter(torch.ones(3))
    def forward(self, x):
        w = torch.softmax(self.w, 0)
        return x * w
M()(torch.ones(3))
# === check
assert torch.allclose(M()(torch.ones(3)).sum(), torch.tensor(1.0))
assert isinstance(M().w, torch.nn.Parameter)
