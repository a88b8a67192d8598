# title: A function of an earlier cell calls autograd.grad on the result of a net
# kind: custom_function
# variable: rate
# says: rate was computed with grad mode off.
# raises: RuntimeError

import torch
from torch.autograd import Function, grad
net = torch.nn.Linear(2, 2)
class Adjoint(Function):
    @staticmethod
    def forward(ctx, state):
        ctx.save_for_backward(state)
        return state + net(state)
    @staticmethod
    def backward(ctx, adjoint):
        state = ctx.saved_tensors[0].detach().requires_grad_()
        rate = net(state)  #! cause
        return adjoint + grad(rate, state, adjoint)[0]  #! symptom
state = torch.ones(1, 2, requires_grad=True)
for _ in range(1):
    out = Adjoint.apply(state * 2)
    out.mean().backward()
