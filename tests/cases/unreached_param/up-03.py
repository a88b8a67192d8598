# title: Layer defined but never used in forward: .grad stays None
# kind: unreached_param
# variable: n.b
# says: b.weight and b.bias were not reached from the loss.
# fix: Use self.b in forward or remove it.
# torch: no error, no warning; prints: ['b.weight', 'b.bias']
# source: ImprintLab/MedSegDiff#27

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.a = torch.nn.Linear(2, 2); self.b = torch.nn.Linear(2, 2)  #! cause
    def forward(self, x): return self.a(x)
n = Net(); n(torch.ones(1, 2)).sum().backward()
print([k for k, p in n.named_parameters() if p.grad is None])  #! symptom
# === fixed
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.a = torch.nn.Linear(2, 2); self.b = torch.nn.Linear(2, 2)
    def forward(self, x): return self.b(self.a(x))
n = Net(); n(torch.ones(1, 2)).sum().backward()
print([k for k, p in n.named_parameters() if p.grad is None])
# === check
assert all(p.grad is not None for p in n.parameters())
