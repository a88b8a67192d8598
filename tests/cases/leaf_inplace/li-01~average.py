# title: A running average of a weight, in a copy that requires grad
# kind: leaf_inplace
# variable: slow
# says: `slow` is a leaf that requires grad
# fix: with torch.no_grad(): slow.mul_(0.9).add_(0.1 * w)
# note: what is written requires grad here, too; yet nothing is to go through it.

import torch
w = torch.ones(3, requires_grad=True)
slow = w.detach().clone().requires_grad_()
(w ** 2).sum().backward()
slow += 0.1 * (w - slow)  #! cause symptom
