# title: The activation is changed once backward is done
# kind: saved_tensor_mutated
# quiet: true

import torch
h = torch.zeros(2, requires_grad=True)
a = torch.exp(h)
a.sum().backward()
with torch.no_grad():
    a += 1
e = torch.exp(h)
loss = e.sum()
loss.backward()
e.detach().zero_()
