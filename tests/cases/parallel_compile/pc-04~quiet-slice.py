# title: Part of a computed argument is set in a compiled function, in a loop
# kind: parallel_compile
# quiet: true

import torch
def mask(h, n):
    h[n:] = 0
    return h.sum()
fast = torch.compile(mask, backend="aot_eager")
w = torch.ones(4, requires_grad=True)
for n in (1, 2):
    w.grad = None
    fast(w * 2, 2).backward()
    mask(w * 2, 2).backward()
assert w.grad.tolist() == [4., 4., 0., 0.]
