# title: Converted first, flagged afterwards; and a conversion that is a no-op
# kind: hidden_leaf
# quiet: true

import torch
def prepare(values, dtype):
    x = torch.as_tensor(values).to(dtype)
    x = x.contiguous()
    x.requires_grad_()
    x = x.to(dtype)
    return x
a, b = prepare([1, 2, 3], torch.float64), prepare([[0.5], [0.1]], torch.float32)
(a.sum() + b.sum().double()).backward()
assert a.grad is not None and b.grad is not None
