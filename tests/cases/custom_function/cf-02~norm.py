# title: A normalisation saves the norm that it computed
# kind: custom_function
# variable: norm
# says: norm is a constant to the second derivative.

import torch
class Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        norm = x.norm()
        ctx.save_for_backward(x, norm)  #! cause
        return x / norm
    @staticmethod
    def backward(ctx, g):
        x, norm = ctx.saved_tensors
        return g / norm - x * (g * x).sum() / norm ** 3
def penalty(f, x):
    g, = torch.autograd.grad(f(x).prod(), x, create_graph=True)
    return g.pow(2).sum()
x = torch.tensor([3., 4.], requires_grad=True)
penalty(Unit.apply, x).backward()  #! symptom
