# title: A detached tensor is filled that no node saved, or after the pass
# kind: saved_tensor_mutated
# quiet: true

import torch
x = torch.ones(3, requires_grad=True)
shifted = x + 1
shifted.detach().zero_()
(shifted * 2).sum().backward()
# %%
y = torch.sigmoid(x)
y.sum().backward()
y.detach().mul_(0)
print(y)
