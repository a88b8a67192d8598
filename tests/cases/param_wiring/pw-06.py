# title: Fresh nn.Parameter created in every forward
# kind: param_wiring
# variable: m.lin.weight
# says: forward() replaces the parameter each call: the optimizer still holds the old object,
#     whose .grad is None.
# fix: Create the Parameter once in __init__.
# torch: no error, no warning; prints: tensor([[1., 1.]]) [False]
# source: pytorch/pytorch#120163

import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.lin = torch.nn.Linear(2, 1, bias=False); self.raw = torch.ones(1, 2)
    def forward(self, x):
        self.lin.weight = torch.nn.Parameter(self.raw)  #! cause
        return self.lin(x)
m = M(); opt = torch.optim.SGD(m.parameters(), lr=0.1)
m(torch.ones(1, 2)).sum().backward(); opt.step()  #! symptom
print(m.raw, [p is m.lin.weight for p in opt.param_groups[0]["params"]])
# === fixed
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__(); self.lin = torch.nn.Linear(2, 1, bias=False); self.raw = torch.ones(1, 2)
        self.lin.weight = torch.nn.Parameter(self.raw)
    def forward(self, x):
        return self.lin(x)
m = M(); opt = torch.optim.SGD(m.parameters(), lr=0.1)
m(torch.ones(1, 2)).sum().backward(); opt.step()
# === check
assert opt.param_groups[0]["params"][0] is m.lin.weight and m.lin.weight.ne(1).all()
