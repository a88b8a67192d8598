# title: The cell of an update is run twice
# kind: leaf_rebound
# variable: w
# says: The line has made a new tensor when it ran before, so that w is no leaf any more.
# fix: with torch.no_grad(): w -= 0.1 * w.grad, then w.grad = None; and run again what makes w.
# raises: TypeError

import torch
w = torch.ones(3, requires_grad=True)
# %%
loss = (w * 2).sum()
loss.backward()
w = w - 0.1 * w.grad  #! cause symptom
# %% rerun 2

# === fixed
import torch
w = torch.ones(3, requires_grad=True)
# %%
loss = (w * 2).sum()
loss.backward()
with torch.no_grad():
    w -= 0.1 * w.grad
w.grad = None
# %% rerun 2

# === check
assert w.is_leaf and torch.allclose(w, torch.full((3,), 0.6))
