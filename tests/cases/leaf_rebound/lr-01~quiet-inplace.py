# title: The update is in place, in several spellings
# kind: leaf_rebound
# quiet: true

import torch
slope = torch.tensor(1., requires_grad=True)
bias = torch.tensor(0., requires_grad=True)
for _ in range(3):
    err = (slope * 4 + bias - 8) ** 2
    err.backward()
    with torch.no_grad():
        slope -= 0.01 * slope.grad
        bias.sub_(bias.grad, alpha=0.01)
        slope.copy_(slope - 0.001 * slope.grad)
    slope.grad.zero_()
    bias.grad = None

# === fixed
import torch
slope = torch.tensor(1., requires_grad=True)
for _ in range(2):
    err = (slope * 4 - 8) ** 2
    err.backward()
    with torch.no_grad():
        slope -= 0.01 * slope.grad
    slope.grad.zero_()

# === check
assert slope.is_leaf and slope.requires_grad
assert slope.item() != 1.
