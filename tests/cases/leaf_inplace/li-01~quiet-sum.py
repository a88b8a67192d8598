# title: A sum that does not require grad, added to in a loop
# kind: leaf_inplace
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
loss = torch.zeros(1)
out = torch.zeros(3)
for i in range(3):
    out[i] = w[i] * i
    loss += (w * i).sum()
(loss + out.sum()).backward()
print(w.grad)
