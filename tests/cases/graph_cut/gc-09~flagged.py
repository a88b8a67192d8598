# title: The loss goes through NumPy, and is made to require grad so that backward runs
# kind: graph_cut
# variable: net.weight
# says: net gets no gradient: numpy() makes plain numbers, and backward reaches the loss itself only.
# fix: Compute the loss with torch, from net(x) itself.

import torch
net = torch.nn.Linear(3, 1)
x = torch.ones(4, 3)
out = net(x).detach().numpy()  #! cause
loss = torch.from_numpy(out ** 2).mean()
loss.requires_grad = True
loss.backward()  #! symptom
