# title: Learnable memory stored as a plain tensor
# kind: param_wiring
# variable: m.keys
# says: m.keys receives gradients but no optimizer owns it: it is not an nn.Parameter.
# fix: self.keys = nn.Parameter(torch.zeros(3, 2))
# torch: no error, no warning; prints: 0.0 True
# source: SimonThomine/RememberingNormality#7

import torch
class Mem(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.keys = torch.zeros(3, 2, requires_grad=True)  #! cause
        self.proj = torch.nn.Linear(2, 2)
m = Mem(); opt = torch.optim.SGD(m.parameters(), lr=1.)
(m.proj(torch.ones(1, 2)) @ m.keys.t()).sum().backward(); opt.step()
print(m.keys.abs().sum().item(), m.keys.grad is not None)  #! symptom
# === fixed
import torch
class Mem(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.keys = torch.nn.Parameter(torch.zeros(3, 2))
        self.proj = torch.nn.Linear(2, 2)
m = Mem(); opt = torch.optim.SGD(m.parameters(), lr=1.)
(m.proj(torch.ones(1, 2)) @ m.keys.t()).sum().backward(); opt.step()
# === check
assert m.keys.abs().sum().item() > 0
