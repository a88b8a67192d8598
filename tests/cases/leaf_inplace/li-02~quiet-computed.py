# title: In place on computed tensors, which autograd records
# kind: leaf_inplace
# quiet: true

import torch
x = torch.ones(2, 3, requires_grad=True)
y = x * 1
y += 1
y[:, 0] *= 3
rows = list(y.unbind())
z = torch.zeros(3)
for row in rows:
    z += row
z.sum().backward()
assert x.grad[0].tolist() == [3., 1., 1.]
