# title: exp's derivative is saved in setup by another name
# kind: custom_function
# variable: e
# says: e was computed in forward; the second derivative misses it.

import torch
from torch.autograd import Function, grad
class Softplus(Function):
    @staticmethod
    def forward(ctx, z):
        e = torch.exp(-z)
        ctx.save_for_backward(e)  #! cause
        return z + torch.log1p(e)
    @staticmethod
    def backward(ctx, upstream):
        (e,) = ctx.saved_tensors
        return upstream / (1 + e)
# %%
z = torch.tensor([0.5], requires_grad=True)
first, = grad(Softplus.apply(z).sum(), z, create_graph=True)
first.sum().backward()  #! symptom
