# title: The shared piece is made in an earlier cell, the loop is in the next
# kind: graph_freed
# variable: emb
# says: `emb` was made once, and the first backward freed its graph.
# fix: emb = ....detach(), or compute it in the loop.
# raises: RuntimeError

import torch
table = torch.nn.Embedding(5, 3)
emb = table(torch.arange(5)).exp()  #! cause
# %%
lin = torch.nn.Linear(3, 1)
for i in range(5):
    out = lin(emb[i])
    out.sum().backward()  #! symptom
