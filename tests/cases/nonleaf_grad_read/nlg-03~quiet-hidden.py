# title: A loop retains all hidden states before backward, another one reads them
# kind: nonleaf_grad_read
# quiet: true

import torch
hidden = [torch.ones(3, requires_grad=True)]
for _ in range(2):
    hidden.append(torch.tanh(hidden[-1]))
for h in hidden:
    h.retain_grad()
hidden[-1].sum().backward()
norms = [h.grad.norm() for h in hidden]
