# title: A module calls a function with an argument through an object
# kind: custom_function
# variable: Reverse
# says: forward and backward must be static, and called through Reverse.apply.
# raises: RuntimeError

import torch
from torch.autograd import Function
class Reverse(Function):
    def __init__(self, scale):
        self.scale = scale
    def forward(self, x):  #! cause
        return x.view_as(x)
    def backward(self, g):
        return -self.scale * g
class Adapt(torch.nn.Module):
    def forward(self, x):
        return Reverse(0.5)(x)  #! symptom
Adapt()(torch.ones(2, requires_grad=True))
