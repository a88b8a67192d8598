# title: What was retained is changed once its gradient was read
# kind: nonleaf_grad_read
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
h = w * 4
h.retain_grad()
h.sum().backward()
seen = h.grad.clone()
with torch.no_grad():
    h.zero_()
assert seen.sum() == 3
