# title: Whether there is a gradient is tested in every way there is
# kind: nonleaf_grad_read
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
h = w * 2
h.sum().backward()
assert h.grad is None
if (g := h.grad) is not None:
    print(g)
norm = h.grad.norm() if h.grad is not None else 0
missing = [t for t in (w, h) if t.grad is None]
if not h.is_leaf and h.grad is None or norm:
    print(len(missing), bool(h.grad is None))
