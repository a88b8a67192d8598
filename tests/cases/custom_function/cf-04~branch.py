# title: forward decides by grad mode what it saves
# kind: custom_function
# variable: Pool.forward
# says: forward runs with grad mode off, always.

import torch
class Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        best, where = x.view(-1, k).max(1)
        if torch.is_grad_enabled():  #! cause symptom
            ctx.save_for_backward(where)
        else:
            ctx.where = None
        ctx.shape = x.shape
        return best
    @staticmethod
    def backward(ctx, g):
        return g.repeat_interleave(2), None
# %%
Pool.apply(torch.arange(4.).requires_grad_(), 2).sum().backward()
