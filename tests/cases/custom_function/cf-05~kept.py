# title: An object of the function is kept and called in a net
# kind: custom_function
# variable: Sign
# says: forward and backward must be static, and called through Sign.apply.
# raises: RuntimeError

import torch
class Sign(torch.autograd.Function):
    def forward(self, x):  #! cause
        return x.sign()
    def backward(self, g):
        return g
sign = Sign()
x = torch.rand(3, requires_grad=True)
y = sign(x - 0.5)  #! symptom
