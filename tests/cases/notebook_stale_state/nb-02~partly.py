# title: The re-run cell has a graph of its own, and an old piece in it
# kind: notebook_stale_state
# variable: feats
# says: `feats` is of cell 1; the first run of cell 2 freed its graph.
# fix: Run cell 1 again first, or feats.detach().
# raises: RuntimeError

import torch
emb = torch.nn.Embedding(3, 2)
feats = emb(torch.arange(3)).tanh()  #! cause
# %%
w = torch.zeros(2, requires_grad=True)
score = (feats @ w).exp().mean()
score.backward()  #! symptom
print(w.grad.norm())
# %% rerun 2
