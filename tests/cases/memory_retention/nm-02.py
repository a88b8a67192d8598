# title: `loss` as the last line of a training cell pins one graph per run
# kind: memory_retention
# variable: loss
# says: 3 old `loss` tensors with graphs are held by Out.
# fix: loss.item() as the last expression.
# torch: no error, no warning; prints: Out[2]: tensor(7389.0547, grad_fn=<SumBackward0>) | Out[3]:
#     tensor(7389.0547, grad_fn=<SumBackward0>) | Out[4]: tensor(7389.0547,
#     grad_fn=<SumBackward0>) | 3
# source: ipython/ipython#11204

import torch
w = torch.ones(1000, requires_grad=True)
# %%
loss = (w.exp() ** 2).sum()
loss  #! cause
# %% rerun 2
# %% rerun 2
# %%
print(sum(v.grad_fn is not None for v in Out.values()))  #! symptom
