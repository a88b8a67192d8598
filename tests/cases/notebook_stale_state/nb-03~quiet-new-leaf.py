# title: The leaf is made in the cell that is run again, or its gradient is only asked for
# kind: notebook_stale_state
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
# %%
b = torch.ones(1, requires_grad=True)
(b * 3).sum().backward()
(g,) = torch.autograd.grad((w * b.detach()).sum(), w)
print(b.grad, g)
# %% rerun 2
# %% rerun 2
