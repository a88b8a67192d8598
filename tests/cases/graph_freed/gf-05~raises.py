# title: Backward twice over a graph that saves its input
# kind: graph_freed
# variable: loss
# says: `loss` was backpropagated before; that freed its graph.
# fix: Drop the second backward.
# raises: RuntimeError

import torch
net = torch.nn.Linear(3, 1)
loss = net(torch.ones(2, 3)).pow(2).mean()
loss.backward()
if net.weight.grad is not None:
    loss.backward()  #! cause symptom
