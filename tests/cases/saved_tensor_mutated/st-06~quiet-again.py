# title: Data is centred once backward is done, and the forward pass runs again
# kind: saved_tensor_mutated
# quiet: true

import torch
X = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
w = torch.ones(2, requires_grad=True)
loss = (X @ w).pow(2).mean()
loss.backward()
# %%
X -= X.mean(0)
# %%
w.grad = None
loss = (X @ w).pow(2).mean()
loss.backward()
