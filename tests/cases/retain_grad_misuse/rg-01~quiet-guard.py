# title: Kept where there is something to keep
# kind: retain_grad_misuse
# quiet: true

import torch
def keep(*tensors):
    for t in tensors:
        if t.requires_grad:
            t.retain_grad()
    return tensors
x = torch.zeros(3)
w = torch.ones(3, requires_grad=True)
s, h, k = keep(torch.sigmoid(x), w * x, w)
(h + s).sum().backward()
assert h.grad is not None and w.grad is not None
