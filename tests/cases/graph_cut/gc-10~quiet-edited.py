# title: A cell that trains, and below it one like it that measures
# kind: graph_cut
# quiet: true
# says: Nothing is trained in the second cell, so nothing was lost.

import torch
net = torch.nn.Linear(3, 1)
x, y = torch.ones(4, 3), torch.zeros(4, 1)
# %%
net.zero_grad()
out = net(x)
loss = torch.nn.functional.mse_loss(out, y)
loss.backward()
# %%
with torch.no_grad():
    out = net(x)
    loss = torch.nn.functional.mse_loss(out, y)
print(loss)
