# title: The leaf keeps its name beside the converted tensor
# kind: hidden_leaf
# quiet: true

import torch
master = [torch.randn(3, requires_grad=True) for _ in range(2)]
half = [m.bfloat16() for m in master]
loss = sum((h * h).sum() for h in half)
loss.backward()
for m in master:
    assert m.grad is not None
    m.grad = None
h = half[0]
