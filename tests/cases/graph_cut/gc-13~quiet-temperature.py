# title: A temperature is fitted to scores that are numbers
# kind: graph_cut
# quiet: true

import torch
net = torch.nn.Linear(3, 1)
score = net(torch.ones(1, 3)).item()
heat = torch.ones(1, requires_grad=True)
loss = score * heat
loss.backward()
print(heat.grad)
