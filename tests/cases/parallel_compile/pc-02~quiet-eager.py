# title: the same function, not compiled; and a pure one that is
# kind: parallel_compile
# quiet: true

import torch
import torch.nn.functional as F
def scale_(h):
    out = F.dropout(h, p=0.3, training=False)
    out.mul_(10)
    return out.sum()
def scaled(h):
    out = F.dropout(h, p=0.3, training=False)
    return (out * 10).sum()
scale_(torch.ones(3))
torch.compile(scaled, backend="aot_eager")(torch.ones(3))
