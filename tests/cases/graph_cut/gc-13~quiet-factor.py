# title: The factor of a loss is a number of the model's, and the loss trains the model
# kind: graph_cut
# quiet: true

import torch
net = torch.nn.Linear(3, 1)
one = torch.ones(1, requires_grad=True)
loss = net(torch.ones(4, 3)).pow(2).mean()
(loss / loss.item() * one).backward()
print(net.weight.grad, one.grad)
