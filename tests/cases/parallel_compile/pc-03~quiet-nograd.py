# title: a compiled function updates a leaf under no_grad
# kind: parallel_compile
# quiet: true

import torch
@torch.compile(backend="aot_eager")
def update(w, g):
    with torch.no_grad():
        w.sub_(0.1 * g)
w = torch.ones(2, requires_grad=True)
for _ in range(2):
    update(w, torch.ones(2))
