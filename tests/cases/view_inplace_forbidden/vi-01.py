# title: Iterating over a tensor and normalising each item in place
# kind: view_inplace_forbidden
# variable: t
# says: `for t in imgs` unbinds: `t` is one of several sibling views and autograd forbids mutating
#     those.
# fix: imgs = (imgs - 1) / 2, or iterate over imgs.detach().clone().
# torch: RuntimeError (line 4): Output 0 of Unbind is a view and is being modified inplace. This
#     view is the output of a function that returns multiple views. Such functions do not allow
#     the output views to be modified inplace. You should replace the inplace operation by an
#     out-of-place one.
# source: pytorch/vision#3025

import torch
imgs = torch.ones(2, 3, requires_grad=True) * 2
for t in imgs:  #! cause
    t.sub_(1).div_(2)  #! symptom

# === fixed
import torch
imgs = torch.ones(2, 3, requires_grad=True) * 2
imgs = torch.stack([t.sub(1).div(2) for t in imgs])
# === check
assert imgs.tolist() == [[0.5] * 3] * 2
