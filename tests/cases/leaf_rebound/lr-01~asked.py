# title: An update by autograd.grad under no_grad loses the leaf
# kind: leaf_rebound
# variable: a
# says: line 7 binds a to a new tensor without grad, so that the next loss has no graph.
# fix: a -= 0.1 * g
# raises: RuntimeError

import torch
a = torch.ones(3, requires_grad=True)
for _ in range(2):
    loss = (a ** 2).sum()
    g, = torch.autograd.grad(loss, [a])  #! symptom
    with torch.no_grad():
        a = a - 0.1 * g  #! cause

# === fixed
import torch
a = torch.ones(3, requires_grad=True)
for _ in range(2):
    loss = (a ** 2).sum()
    g, = torch.autograd.grad(loss, [a])
    with torch.no_grad():
        a -= 0.1 * g

# === check
assert a.is_leaf and abs(a - 0.64).max() < 1e-6
