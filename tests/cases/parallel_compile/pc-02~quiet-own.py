# title: the write goes to something else: an active dropout, a result that nobody reads again
# kind: parallel_compile
# quiet: true
# note: The last one binds another tensor and writes nothing.

import torch
import torch.nn.functional as F
@torch.compile(backend="aot_eager")
def f(h):
    a = F.dropout(h, p=0.3, training=True)
    a.mul_(2)
    t = h * 2
    b = F.dropout(t, p=0.3, training=False)
    b.mul_(2)
    c = F.dropout(h, p=0.3, training=False)
    c = c + 1
    return a.sum() + b.sum() + c.sum()
f(torch.ones(3))
