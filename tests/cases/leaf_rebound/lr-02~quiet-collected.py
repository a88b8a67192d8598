# title: The variable of a loop takes each new weight, which is then collected
# kind: leaf_rebound
# quiet: true

import torch
weights = [torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)]
(weights[0] * weights[1] - weights[0]).sum().backward()
ahead = []
for p in weights:
    p = p - 0.1 * p.grad
    ahead.append(p)
