# title: a function hands the new tensor on, and it is part of the loss
# kind: hook_surprise
# quiet: true

import torch
kept = []
def keep(t):
    kept.append(t)
    return t
a = torch.ones(3, requires_grad=True)
keep(a * 2).register_hook(lambda g: None)
(h := a[0]).register_hook(lambda g: None)
torch.stack(kept).sum().add(h).backward()
