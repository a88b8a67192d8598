# title: backward switches grad mode on for what it differentiates
# kind: custom_function
# quiet: true

import torch
class Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()
    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = x.tanh()
        y.backward(g)
        return x.grad
class Other(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()
    @staticmethod
    @torch.enable_grad()
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        return torch.autograd.grad(x.sin(), x, g)[0]
x = torch.ones(3, requires_grad=True)
(Recompute.apply(x) + Other.apply(x)).sum().backward()
