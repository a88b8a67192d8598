# title: Code that tries integers, and goes on
# kind: requires_grad_flag
# quiet: true

import torch
def differentiable(data):
    try:
        return torch.tensor(data, requires_grad=True)
    except RuntimeError:
        return torch.tensor(data, dtype=torch.float32, requires_grad=True)
x = differentiable([1., 2.])
x.sum().backward()
