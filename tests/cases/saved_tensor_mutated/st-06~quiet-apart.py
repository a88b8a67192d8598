# title: What an earlier cell computed with is changed where nothing saved it, or anew
# kind: saved_tensor_mutated
# quiet: true

import torch
X = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
b = torch.zeros(2)
w = torch.ones(2, requires_grad=True)
pred = X @ w + b
# %%
X = X.clone()
X -= X.mean(0)
b += 1
# %%
pred.pow(2).mean().backward()
