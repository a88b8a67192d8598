# title: In-place ops where nothing saved what they change
# kind: saved_tensor_mutated
# quiet: true

import torch
h = torch.ones(3, requires_grad=True)
a = h * 2
a += 1
b = torch.relu(a + 0)
c = b.clone()
c.mul_(3)
c[0] = 0
loss = c.sum()
out = torch.empty(3)
torch.add(h.detach(), 1, out=out)
loss.backward()
