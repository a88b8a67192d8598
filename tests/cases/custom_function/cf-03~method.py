# title: backward differentiates a penalty that it computes
# kind: custom_function
# variable: energy
# says: grad mode is off in backward.
# raises: RuntimeError

import torch
class Implicit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y):
        ctx.save_for_backward(y)
        return y.cos()
    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        leaf = y.detach().requires_grad_(True)
        energy = (leaf.cos() * grad).sum()  #! cause
        energy.backward()  #! symptom
        return leaf.grad
# %%
y = torch.zeros(3, requires_grad=True)
Implicit.apply(y).sum().backward()
