# title: The elements of a list are replaced in a loop over them
# kind: leaf_rebound
# variable: ws[i]
# says: the list does not hold the leaves any more
# fix: with torch.no_grad(): w -= 0.1 * w.grad; w.grad = None

import torch
ws = [torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)]
sum((w ** 2).sum() for w in ws).backward()
for i, w in enumerate(ws):
    ws[i] = w - 0.1 * w.grad  #! cause symptom
