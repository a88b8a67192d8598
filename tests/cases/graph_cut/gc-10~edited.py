# title: The backbone of a model was put under no_grad since the cell last ran
# kind: graph_cut
# variable: body.weight
# says: The parameters of `body` reached the loss in the cell's last run; no_grad keeps them off.
# fix: take the line out of the with block

import torch
body, top = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
batch = torch.ones(5, 3)
# %%
body.zero_grad(); top.zero_grad()
feats = body(batch).tanh()
guess = top(feats)
loss = (guess - 1).abs().mean()
loss.backward()
# %%
body.zero_grad(); top.zero_grad()
with torch.no_grad():  #! cause symptom
    feats = body(batch).tanh()
guess = top(feats)
loss = (guess - 1).abs().mean()
loss.backward()
