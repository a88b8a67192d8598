# title: Grad mode is asked around apply, in a module and in backward
# kind: custom_function
# quiet: true

import torch
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, keep):
        ctx.keep = keep
        if any(ctx.needs_input_grad):
            ctx.factor = 2
        return x * 2
    @staticmethod
    def backward(ctx, g):
        ctx.second = torch.is_grad_enabled()
        return g * 2, None
class Layer(torch.nn.Module):
    def forward(self, x):
        return Scale.apply(x, torch.is_grad_enabled())
Layer()(torch.ones(2, requires_grad=True)).sum().backward()
