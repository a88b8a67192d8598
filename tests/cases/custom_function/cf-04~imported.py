# title: The question is imported, and asked in an assignment
# kind: custom_function
# variable: Gate.forward
# says: forward runs with grad mode off, always.

import torch
from torch import is_grad_enabled
from torch.autograd import Function
class Gate(Function):
    @staticmethod
    def forward(ctx, a, b):
        training = is_grad_enabled() and a.requires_grad  #! cause symptom
        if training:
            ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):
        return g, g
Gate.apply(torch.ones(2, requires_grad=True), torch.ones(2))
