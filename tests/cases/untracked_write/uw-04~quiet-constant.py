# title: Values that only sums and constants have used are changed between two passes
# kind: untracked_write
# quiet: true

import torch
def shift(x):
    return (x - 3).reshape(-1) / 2
x = torch.ones(2, 2, requires_grad=True)
flat = shift(x)
loss = flat.mean()
loss.backward(retain_graph=True)
flat.data.mul_(0)
x.data.add_(1)
# %%
loss.backward()
print(x.grad)
