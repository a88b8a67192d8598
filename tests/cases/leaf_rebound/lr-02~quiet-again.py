# title: Lists of updated weights that are leaves again, or only looked at
# kind: leaf_rebound
# quiet: true

import torch
ps = [torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)]
for _ in range(2):
    sum((p ** 2).sum() for p in ps).backward()
    ps = [(p - 0.1 * p.grad).detach().requires_grad_() for p in ps]
sum((p ** 2).sum() for p in ps).backward()
with torch.no_grad():
    ps = [p - 0.1 * p.grad for p in ps]
for p in ps:
    p.requires_grad_()
sum((p ** 2).sum() for p in ps).backward()
ahead = [p - 0.1 * p.grad for p in ps]
norms = {i: (p - 0.1 * p.grad).norm().item() for i, p in enumerate(ps)}
shown = [p.detach() - 0.1 * p.grad.data for p in ps]
for i, p in enumerate(ps):
    ps[i] = torch.nn.Parameter(p - 0.1 * p.grad)
