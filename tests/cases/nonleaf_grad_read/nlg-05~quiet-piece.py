# title: Pieces and forms of the gradient itself
# kind: nonleaf_grad_read
# quiet: true

import torch
w = torch.ones(2, 3, requires_grad=True)
row = w[0]
row.retain_grad()
(row * 2).sum().backward()
print(w.grad[0], w.grad.T, row.grad, w.detach()[0].grad, w.data.grad)
