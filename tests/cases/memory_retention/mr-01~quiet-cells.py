# title: The sum is made in one cell and backpropagated in the next
# kind: memory_retention
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
total = 0
for k in range(4):
    total = total + ((w - k) ** 2).sum()
# %%
total.backward()
print(w.grad)
