# title: autograd.grad inside backward without enable_grad
# kind: custom_function
# variable: out
# says: Grad mode is off inside backward: `out` (line 9) has no graph.
# fix: with torch.enable_grad(): out = x * x
# torch: RuntimeError (line 11, inside line 10): element 0 of tensors does not require grad and
#     does not have a grad_fn
# source: pytorch/pytorch#45405

import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        x = x.detach().requires_grad_()
        out = x * x  #! cause
        return torch.autograd.grad(out, x, g)[0]  #! symptom
F.apply(torch.tensor(2., requires_grad=True)).backward()

# === fixed
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        x = x.detach().requires_grad_()
        with torch.enable_grad():
            out = x * x
        return torch.autograd.grad(out, x, g)[0]
F.apply(torch.tensor(2., requires_grad=True)).backward()

# === check
x = torch.tensor(3., requires_grad=True)
F.apply(x).backward()
assert x.grad == 6
