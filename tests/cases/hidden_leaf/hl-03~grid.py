# title: A grid of control points is made by expand and permute behind the flag
# kind: hidden_leaf
# variable: grid
# says: grid is a view of a leaf without a name.

import torch
def fit(n):
    grid = torch.zeros(n, 2, requires_grad=True).permute(1, 0)  #! cause
    for _ in range(2):
        loss = (grid - 1).square().mean()
        loss.backward()
    return grid.grad  #! symptom
fit(4)
