# title: a compiled function writes to what it computed itself
# kind: parallel_compile
# quiet: true

import torch
@torch.compile(backend="aot_eager")
def f(x):
    y = x * 2
    y.add_(1)
    return y.sum()
w = torch.zeros(2, requires_grad=True)
f(w).backward()
