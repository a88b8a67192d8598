# title: The graph is missing outside of the custom function
# kind: custom_function
# raises: RuntimeError
# quiet: true

import torch
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        out = g * 2
        return out
x = torch.ones(2, requires_grad=True)
Twice.apply(x).sum().backward()
try:
    1 / 0
except ZeroDivisionError:
    pass
raise RuntimeError("something else")
