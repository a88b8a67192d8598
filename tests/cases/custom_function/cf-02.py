# title: Saved intermediate makes the second derivative silently wrong
# kind: custom_function
# variable: sq
# says: `sq` is an intermediate saved in forward (grad mode is off there), so d2/dx2 is 0 instead
#     of 12.
# fix: Recompute x*x in backward from the saved input x, or return it as an extra output.
# torch: no error, no warning; prints: 12.0 0.0
# source: pytorch/pytorch#104040

import torch
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * x)  #! cause
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        x, sq = ctx.saved_tensors
        return g * sq * 3 + 0 * x
x = torch.tensor(2., requires_grad=True)
g1, = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
print(g1.item(), torch.autograd.grad(g1, x)[0].item())  #! symptom
