# title: A copy of a detached tensor is filled
# kind: saved_tensor_mutated
# quiet: true

import torch
x = torch.tensor([0.5, -0.5], requires_grad=True)
y = x.tanh()
own = y.detach().clone()
own.fill_(9.)
y.sum().backward()
