# title: torch.is_grad_enabled() inside Function.forward is always False
# kind: custom_function
# variable: F.forward
# says: Function.forward runs with grad mode off; it says nothing about the caller.
# fix: Decide before apply(), or use ctx.needs_input_grad.
# torch: no error, no warning; prints: False True
# source: Dao-AILab/flash-attention#1430

import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print(torch.is_grad_enabled(), x.requires_grad)  #! cause symptom
        return x * 1
    @staticmethod
    def backward(ctx, g): return g
F.apply(torch.ones(1, requires_grad=True))
