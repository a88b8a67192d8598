# title: A leaf that is a view, updated under no_grad; and its memory, written before
# kind: leaf_inplace
# quiet: true

import torch
flat = torch.zeros(6)
w = flat.view(2, 3)
w += 1
w.requires_grad_()
for _ in range(2):
    w.sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w[0].mul_(2)
    w.grad = None
y = w * 2
y[0].add_(1)
y[:, 0] = 5.
y.sum().backward()
print(w.grad)
