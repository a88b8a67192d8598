# title: Differentiated once, or marked so, or computed again
# kind: custom_function
# quiet: true

import torch
from torch.autograd.function import once_differentiable
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        sq = x * x
        return g * sq * 3
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x * 2)
        return x * x
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        twice, = ctx.saved_tensors
        return g * twice
x = torch.tensor(2., requires_grad=True)
g, = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
assert torch.autograd.grad(g, x)[0].item() == 12.
Square.apply(x).backward()

# === fixed
import torch
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        sq = x * x
        return g * sq * 3
x = torch.tensor(2., requires_grad=True)
g1, = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
second = torch.autograd.grad(g1, x)[0].item()

# === check
assert second == 12.
