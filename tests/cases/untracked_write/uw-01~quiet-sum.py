# title: What a sum of an earlier cell took, and a copy, are changed through .data
# kind: untracked_write
# quiet: true

import torch
x = torch.tensor([1., 2.])
w = torch.tensor([1., 2.], requires_grad=True)
y = (w + x).sum()
z = w.exp()
# %%
x.data.mul_(10)
copy = z.data.clone()
copy.data.zero_()
# %%
y.backward()
z.sum().backward()
