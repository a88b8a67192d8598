# title: Storing an output on ctx used to leak (fixed); intermediates on ctx still live as long as
#     the graph
# kind: custom_function
# variable: ctx.big
# says: ctx.big survives backward because it was not saved with save_for_backward.
# fix: ctx.save_for_backward(big)
# torch: no error, no warning; prints: True
# source: pytorch/pytorch#25340

import torch, gc, weakref
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.big = x.new_zeros(1000); Keep.ref = weakref.ref(ctx.big); return x.clone()  #! cause
    @staticmethod
    def backward(ctx, g): return g
x = torch.ones(2, requires_grad=True)
y = Keep.apply(x)
y.sum().backward(); gc.collect()
print(Keep.ref() is not None)  #! symptom
