# title: Manual SGD: p.add_() on a parameter
# kind: leaf_inplace
# variable: p
# says: `p` is a leaf that requires grad; add_ at line 4 would have to be recorded and would
#     destroy the leaf.
# fix: with torch.no_grad(): p.add_(p.grad, alpha=-0.1)
# torch: RuntimeError (line 4): a leaf Variable that requires grad is being used in an in-place
#     operation.
# source: pytorch/examples#779

import torch
p = torch.nn.Parameter(torch.ones(3))
(p ** 2).sum().backward()
p.add_(p.grad, alpha=-0.1)  #! cause symptom

# === fixed
import torch
p = torch.nn.Parameter(torch.ones(3))
(p ** 2).sum().backward()
with torch.no_grad(): p.add_(p.grad, alpha=-0.1)

# === check
assert p.is_leaf
assert torch.allclose(p, torch.full((3,), 0.8))
