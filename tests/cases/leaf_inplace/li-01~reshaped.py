# title: An update of a leaf that is itself a view
# kind: leaf_inplace
# variable: ww
# says: `ww` is a leaf that requires grad; add_ would have to be recorded
# fix: with torch.no_grad(): ww.add_(-0.1 * ww.grad)

import torch
ww = torch.ones(1, 10).reshape(2, 5).requires_grad_()
ww.sum().backward()
ww.add_(-0.1 * ww.grad)  #! cause symptom
# === fixed
import torch
ww = torch.ones(1, 10).reshape(2, 5).requires_grad_()
ww.sum().backward()
with torch.no_grad():
    ww.add_(-0.1 * ww.grad)
# === check
assert ww.is_leaf and abs(float(ww.mean()) - 0.9) < 1e-6
