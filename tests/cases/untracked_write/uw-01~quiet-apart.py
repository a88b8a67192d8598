# title: Weights are updated through .data once backward is done, cell by cell
# kind: untracked_write
# quiet: true

import torch
w = torch.tensor([1., 2.], requires_grad=True)
s = (w ** 2).sum()
# %%
s.backward()
w.data -= 0.1 * w.grad
w.grad = None
# %%
s = (w ** 2).sum()
s.backward()
w.data.sub_(0.1 * w.grad)
w.grad = None
# %%
s = (w ** 2).sum()
# %%
s.backward()
