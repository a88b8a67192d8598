# title: the handle is removed at the end of each round
# kind: hook_surprise
# quiet: true

import torch
w = torch.ones(1, requires_grad=True)
seen = []
for _ in range(3):
    h = w.register_hook(lambda g: seen.append(g))
    w.grad = None
    (w * 8).sum().backward()
    h.remove()
# %%
h = w.register_hook(lambda g: g * 0.5)
w.grad = None
(w * 8).sum().backward()
h.remove()
# %% rerun 2
