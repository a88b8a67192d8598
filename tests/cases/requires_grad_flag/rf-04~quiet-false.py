# title: Indices are told not to require grad, which is what they do
# kind: requires_grad_flag
# quiet: true

import torch
out = torch.nn.Linear(2, 3)(torch.ones(1, 2))
values, pred = torch.max(out, 1)
pred.requires_grad_(False)
pred.requires_grad = False
hot = torch.nn.functional.one_hot(pred, 3).float()
hot.requires_grad_()
(hot * out).sum().backward()
