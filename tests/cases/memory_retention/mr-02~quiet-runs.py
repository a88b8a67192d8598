# title: A list that is emptied by each run, and one that a loss is computed from
# kind: memory_retention
# quiet: true

import torch
w, kept = torch.ones(5, requires_grad=True), []
# %%
parts = []
for scale in (1., 2.):
    parts.append((w * scale).exp().sum())
kept.append((w ** 2).sum())
(sum(parts) + torch.stack(kept).sum()).backward(retain_graph=True)
w.grad = None
# %% rerun 2
# %% rerun 2
# %% rerun 2
