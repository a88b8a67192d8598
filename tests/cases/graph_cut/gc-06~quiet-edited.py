# title: The cell was changed so that a variable is not used for the loss any more
# kind: graph_cut
# quiet: true
# says: `aside` is for a print now, and what is printed is wanted without a graph.

import torch
left = torch.ones(3, requires_grad=True)
right = torch.ones(3, requires_grad=True)
# %%
left.grad = right.grad = None
aside = (left * 2).sum()
loss = (right * 3).sum() + aside
loss.backward()
# %%
left.grad = right.grad = None
aside = (left * 2).sum()
loss = (right * 3).sum()
loss.backward()
print(aside.item(), loss.item())
