# title: Loss computed with NumPy
# kind: graph_cut
# variable: err
# says: numpy() at line 4 takes the numbers out of the graph.
# fix: (pred - y).square().mean()

import torch
net = torch.nn.Linear(2, 1)
pred = net(torch.ones(4, 2))
err = pred.detach().numpy() - 1.0  #! cause
loss = torch.tensor((err ** 2).mean())
loss.backward()  #! symptom
