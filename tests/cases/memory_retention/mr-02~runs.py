# title: Each run of a cell puts a loss, with its graph, into a list
# kind: memory_retention
# variable: history
# says: history gets longer with each run, by a loss with its graph.
# fix: history.append((step, loss.item()))

import torch
w, history, step = torch.ones(5, requires_grad=True), [], 0
# %%
step += 1
loss = w.exp().sum()
loss.backward()
w.grad = None
history.append((step, loss))  #! cause symptom
# %% rerun 2
# %% rerun 2
