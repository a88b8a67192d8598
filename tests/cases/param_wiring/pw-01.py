# title: nn.Parameter(...).to(...) is not registered
# kind: param_wiring
# variable: self.gain
# says: `.to()` returned a plain tensor (non-leaf), so the module registered nothing.
# fix: self.gain = nn.Parameter(torch.ones(3, dtype=..., device=...))
# torch: no error, no warning; prints: 0 True
# source: pytorch/pytorch#17484

import torch
class Scaler(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(3)).to(torch.float64)  #! cause
s = Scaler()
print(len(list(s.parameters())), s.gain.requires_grad)  #! symptom
# === fixed
import torch
class Scaler(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(3).to(torch.float64))
s = Scaler()
print(len(list(s.parameters())), s.gain.requires_grad)
# === check
assert [p is s.gain for p in s.parameters()] == [True]
