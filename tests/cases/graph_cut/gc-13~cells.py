# title: A net was frozen in an earlier cell, and a later one is to train it
# kind: graph_cut
# variable: net.0.weight
# says: nothing behind the loss requires grad: line 2 of the second cell freezes the net.
# fix: net.requires_grad_(True) before the forward pass

import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
# %%
for p in net.parameters():
    p.requires_grad_(False)  #! cause
# %%
scale = torch.ones(1)
# %%
loss = (net(torch.ones(2, 3)) * scale).sum()
loss.backward()  #! symptom
