# title: Numbers of a leaf that is not trained here are shown, kept and compared
# kind: graph_cut
# quiet: true
# note: nothing at all is said: the numbers do not get into the loss.

import torch
prior = torch.ones(2, requires_grad=True)
w = torch.ones(2, requires_grad=True)
seen, best = [], float("inf")
for _ in range(3):
    seen.append(prior.sum().item())
    loss = (w ** 2).sum()
    if loss.item() < best:
        best = loss.item()
    loss.backward()
print(seen, best)
