# title: autograd.grad makes the graph of the gradient
# kind: memory_retention
# quiet: true

import torch
q = torch.full((3,), .5, requires_grad=True)
energy = q.sin().prod()
force, = torch.autograd.grad(energy, q, create_graph=True)
force.pow(2).sum().backward()
