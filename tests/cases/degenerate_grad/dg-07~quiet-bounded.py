# title: A log of a deviation kept in bounds that one element has left; a margin that is kept
# kind: degenerate_grad
# quiet: true

import torch
log_std = torch.tensor([-25., -1., 0.], requires_grad=True)
std = log_std.clamp(-20, 2).exp()
(std * torch.randn(3)).pow(2).sum().backward()
# %%
score = torch.tensor([3., 4.], requires_grad=True)
hinge = (1 - score).clamp(min=0).mean()  # every margin is kept
hinge.backward()
