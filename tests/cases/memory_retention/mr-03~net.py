# title: The loss of a network is backpropagated with create_graph
# kind: memory_retention
# variable: model.0.weight
# says: Its gradients have graphs that refer to the parameters.
# fix: torch.autograd.grad(out, list(net.parameters()), create_graph=True)
# torch: no error, no warning

import torch
def penalized(net, x):
    out = net(x).pow(3).mean()
    out.backward(create_graph=True)  #! cause symptom
    return sum(p.grad.norm() for p in net.parameters())
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
norm = penalized(model, torch.ones(3, 2))
