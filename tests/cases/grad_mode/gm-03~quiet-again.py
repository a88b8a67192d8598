# title: Grad mode is on again before the loss; a detached loss is another matter
# kind: grad_mode
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
torch.set_grad_enabled(False)
start = w * 2
# %%
torch.set_grad_enabled(True)
(w * start).sum().backward()
# %%
torch.set_grad_enabled(False)
print((w * start).sum())
# %%
was = torch.is_grad_enabled()
torch.set_grad_enabled(True)
loss = (w * start).sum()
loss.backward()
