# title: Assigning .grad on a non-leaf by hand silences the warning and the value goes stale
# kind: nonleaf_grad_read
# variable: h
# says: h.grad still holds the zeros you assigned at line 4; the backward at line 5 did not touch
#     it because `h` is a non-leaf without retain_grad. The true gradient is ones.
# fix: Delete line 4 and call h.retain_grad() before backward.
# torch: no error, no warning; prints: tensor([0., 0.]) False
# source: pytorch/pytorch#134398

import torch
w = torch.tensor([1., 2.], requires_grad=True)
h = w.square()
h.grad = torch.zeros(2)  #! cause
h.sum().backward()
print(h.grad, h.retains_grad)  #! symptom
