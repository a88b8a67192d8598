# title: View of a Parameter taken under no_grad is a phantom leaf: training through it gives
#     nobody a gradient
# kind: grad_mode
# variable: flat
# says: `flat` claims requires_grad and is_leaf, but it is a no_grad view (grad_fn None): backward
#     ran without error and neither flat.grad nor w.grad was filled.
# fix: Take the view outside no_grad, or flat = w.detach().view(2, 2) if no gradient is wanted.
# torch: no error, no warning; prints: True True None None
# source: pytorch/pytorch#11390 (named as the original in #46609)
# note: Detect with: t.requires_grad and t.is_leaf and t._is_view() (its gradient edge leads
#     nowhere).

import torch
w = torch.nn.Parameter(torch.ones(4))
with torch.no_grad():
    flat = w.view(2, 2)  #! cause
loss = (flat ** 2).sum()
loss.backward()
print(flat.requires_grad, flat.is_leaf, flat.grad, w.grad)  #! symptom
