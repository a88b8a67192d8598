# title: Gradients are zeroed after the update, or where there are some
# kind: leaf_rebound
# quiet: true

import torch
w1, w2 = (torch.randn(3, requires_grad=True) for _ in range(2))
for t in range(3):
    for w in (w1, w2):
        if w.grad is not None:
            w.grad.zero_()
    (w1 * w2).sum().backward()
    with torch.no_grad():
        w1 -= 0.1 * w1.grad
        w2 -= 0.1 * w2.grad
    w2.grad.zero_()
