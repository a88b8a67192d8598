# title: torch.compile drops an in-place write made through dropout's identity return
# kind: parallel_compile
# variable: out
# says: Eager changed the caller's tensor to 10, the compiled function left it at 1.
# fix: out = out * 10
# torch: no error, no warning; prints: tensor([10., 10., 10.]) tensor([1., 1., 1.])
# source: pytorch/pytorch#195422

import torch, torch.nn.functional as F
def scale_(h):
    out = F.dropout(h, p=0.3, training=False)  #! cause
    out.mul_(10)
    return out.sum()
eager, comp = torch.ones(3), torch.ones(3)
scale_(eager)
torch.compile(scale_, backend="aot_eager")(comp)
print(eager, comp)  #! symptom

# === fixed
import torch, torch.nn.functional as F
def scaled(h):
    out = F.dropout(h, p=0.3, training=False)
    out = out.mul(10)
    return out.sum()
eager, comp = torch.ones(3), torch.ones(3)
scaled(eager)
torch.compile(scaled, backend="aot_eager")(comp)

# === check
assert torch.equal(eager, torch.ones(3))
assert torch.equal(eager, comp)
