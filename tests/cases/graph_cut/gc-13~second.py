# title: A penalty on a gradient that has no graph
# kind: graph_cut
# variable: g
# says: autograd.grad was called without create_graph=True.
# fix: create_graph=True

import torch
w = torch.ones(2, requires_grad=True)
loss = (w ** 3).sum()
(g,) = torch.autograd.grad(loss, w)  #! cause
penalty = g.norm()
penalty.backward()  #! symptom
