# title: A loss from a dict of terms through torch.tensor
# kind: graph_cut
# variable: terms
# says: torch.tensor copies the values; there is no graph behind the mean.
# fix: torch.stack(list(parts.values()))

import torch
def loss_of(net, x):
    parts = {"fit": net(x).square().mean(), "size": net.weight.norm()}
    terms = torch.tensor(list(parts.values()))  #! cause
    return terms.mean()
# %%
net = torch.nn.Linear(2, 1)
loss = loss_of(net, torch.ones(3, 2))
loss.backward()  #! symptom
