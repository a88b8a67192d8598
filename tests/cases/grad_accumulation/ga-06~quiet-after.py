# title: Added to after the backward, and kept at zero where asked
# kind: grad_accumulation
# quiet: true

import torch
w = torch.nn.Parameter(torch.ones(2))
opt = torch.optim.SGD([w], lr=0.1)
w.grad = torch.zeros_like(w)
w.grad += 1
opt.step()
opt.zero_grad(set_to_none=False)
w.grad += 1
opt.step()
