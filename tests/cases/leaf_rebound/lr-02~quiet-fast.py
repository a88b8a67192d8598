# title: Fast weights of a list are made from slow ones, and a tensor of the gradient has its name
# kind: leaf_rebound
# quiet: true

import torch
ws = [torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)]
loss = sum((w ** 2).sum() for w in ws)
grads = torch.autograd.grad(loss, ws, create_graph=True)
fast = [w - 0.1 * g for w, g in zip(ws, grads)]
sum((w ** 2).sum() for w in fast).backward()
steps = [w.grad for w in ws]
steps = [0.9 * s for s in steps]
with torch.no_grad():
    for w, step in zip(ws, steps):
        w -= step
x = torch.ones(3, requires_grad=True)
(x ** 2).sum().backward()
x = x + 0.1 * x.grad.data.sign()
