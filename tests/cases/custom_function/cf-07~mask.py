# title: A mask is kept as an attribute of the context
# kind: custom_function
# variable: ctx.keep
# says: ctx.keep lives as long as the graph.

import torch
class Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.keep = torch.rand_like(x) > p  #! cause
        ctx.scale = 1 / (1 - p)
        return x * ctx.keep * ctx.scale
    @staticmethod
    def backward(ctx, g):
        return g * ctx.keep * ctx.scale, None
x = torch.ones(5, requires_grad=True)
out = Drop.apply(x, 0.5)
out.sum().backward()  #! symptom
