# title: Hook handles never removed: effects pile up on every re-run
# kind: hook_surprise
# variable: w
# says: 3 hooks are stacked on `w` (4, 2, 1 instead of 4, 4, 4): line 4 registers a new one on
#     each run.
# fix: Keep the handle and h.remove(), or register once.
# torch: no error, no warning; prints: 4.0 | 2.0 | 1.0
# source: omerbt/Splice#135

import torch
w = torch.ones(1, requires_grad=True)
for _ in range(3):
    h = w.register_hook(lambda g: g * 0.5)  #! cause
    w.grad = None
    (w * 8).sum().backward()
    print(w.grad.item())  #! symptom

# === fixed
import torch
w = torch.ones(1, requires_grad=True)
seen = []
for _ in range(3):
    h = w.register_hook(lambda g: g * 0.5)
    w.grad = None
    (w * 8).sum().backward()
    seen.append(w.grad.item())
    h.remove()
# === check
assert seen == [4., 4., 4.]
