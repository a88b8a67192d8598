# title: .item() for the log, the tensor for backward
# kind: graph_cut
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
total, seen = 0.0, []
for x in (1.0, 2.0):
    loss = (w * x).sum()
    loss.backward()
    total += loss.item()
    seen.append(float(loss))
print(torch.tensor(seen).mean(), total, w.grad)
