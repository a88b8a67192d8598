# title: Kept on an object that is no context, and saved as torch asks
# kind: custom_function
# quiet: true

import torch
class Holder:
    pass
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, holder):
        big = x.new_zeros(10)
        holder.big = big
        ctx.save_for_backward(big)
        ctx.set_materialize_grads(False)
        return x.clone()
    @staticmethod
    def backward(ctx, g):
        big, = ctx.saved_tensors
        return g + big.sum(), None
holder = Holder()
x = torch.ones(2, requires_grad=True)
Keep.apply(x, holder).sum().backward()
