# title: The gradient with respect to a copy is wanted
# kind: graph_cut
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
h = torch.as_tensor([w[0] * 2, w[1] * 3])
h.requires_grad_()
h.square().sum().backward()
print(h.grad)
