# title: An output is saved, and a mask, and differentiated twice
# kind: custom_function
# quiet: true

import torch
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y
    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y
class Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(mask)
        return x * mask
    @staticmethod
    def backward(ctx, g):
        mask, = ctx.saved_tensors
        return g * mask
x = torch.tensor(1., requires_grad=True)
g, = torch.autograd.grad(Relu.apply(Exp.apply(x)), x, create_graph=True)
h, = torch.autograd.grad(g, x)
assert h.item() == g.item()
