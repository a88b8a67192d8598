# title: The inner step of MAML on fast weights
# kind: unreached_param
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
lr = torch.tensor(0.1, requires_grad=True)
inner = (w ** 2).sum()
(g,) = torch.autograd.grad(inner, w, create_graph=True)
fast = w - lr * g
outer = (fast * 3).sum()
outer.backward()
print(w.grad, lr.grad)
