# title: The mean of weights is taken along by hand
# kind: graph_cut
# quiet: true

import torch
w = torch.nn.Parameter(torch.ones(2))
mean = torch.nn.Parameter(torch.ones(2))
for _ in range(3):
    loss = (w ** 2).sum() + 0.1 * ((w - mean.data) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        mean.mul_(0.9).add_(w, alpha=0.1)
    w.grad = None
print(mean)
