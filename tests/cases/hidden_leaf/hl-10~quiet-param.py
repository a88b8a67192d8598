# title: Scaled values are wrapped as parameters, or flagged last
# kind: hidden_leaf
# quiet: true

import torch
W1 = torch.nn.Parameter(torch.randn(4, 2) * 0.01)
W2 = (torch.randn(2, 1) / 2 ** 0.5).requires_grad_()
b = torch.zeros(1).add(0.1).requires_grad_(True)
for step in range(2):
    loss = ((torch.ones(1, 4) @ W1).relu() @ W2 + b).sum()
    loss.backward()
    with torch.no_grad():
        for p in (W1, W2, b):
            p -= 0.1 * p.grad
            p.grad.zero_()
