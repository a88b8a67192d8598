# title: Numbers, shapes and flags are kept on the context
# kind: custom_function
# quiet: true

import torch
class Resize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, size):
        ctx.shape, ctx.size = x.shape, size
        ctx.mean = x.mean().item()
        ctx.empty = x.numel() == 0
        ctx.dtype = x.dtype
        ctx.save_for_backward(x)
        return x.reshape(size)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g.reshape(ctx.shape).to(ctx.dtype), None
x = torch.ones(2, 3, requires_grad=True)
Resize.apply(x, (3, 2)).sum().backward()
