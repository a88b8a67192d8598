# title: What is rebound in the next cell goes, its saved tensors too
# kind: tool_hazard
# quiet: true

import gc, torch, weakref
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, grad):
        return grad * 2
x = torch.ones(3, requires_grad=True)
mid = x + 1
gone = weakref.ref(mid)
out = Keep.apply(mid).sum()
# %%
out.backward()
mid = out = None
gc.collect()
assert gone() is None
