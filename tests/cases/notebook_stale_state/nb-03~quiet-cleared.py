# title: Cleared at the top of the cell, at its end, or in a cell in between
# kind: notebook_stale_state
# quiet: true

import torch
a, b, c = [torch.ones(2, requires_grad=True) for _ in range(3)]
# %%
a.grad = None
(a * 3).sum().backward()
(b * 3).sum().backward()
print(a.grad, b.grad)
b.grad.zero_()
# %% rerun 2
# %%
(c * 2).prod().backward()
# %%
c.grad = None
# %% rerun 3
