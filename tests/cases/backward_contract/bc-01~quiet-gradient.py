# title: a vector with a gradient to begin with, and autograd.grad with grad_outputs
# kind: backward_contract
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
y = w * 2
y.backward(torch.ones(3), retain_graph=True)
y.backward(gradient=torch.ones_like(y), retain_graph=True)
torch.autograd.grad(y, w, grad_outputs=torch.ones_like(y))
