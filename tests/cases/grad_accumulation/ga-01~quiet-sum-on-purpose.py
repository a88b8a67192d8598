# title: A leaf without an optimizer whose gradient is a plain sum over batches
# kind: grad_accumulation
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
for x in torch.arange(8.0).reshape(4, 2):
    (w * x).sum().backward()
total = w.grad.clone()
for _ in range(3):
    (g,) = torch.autograd.grad((w ** 2).sum(), w)
    with torch.no_grad():
        w -= 0.1 * g
