# title: Old-style Function instance with non-static forward
# kind: custom_function
# variable: Relu
# says: Legacy style: forward/backward must be static and called through Relu.apply.
# fix: @staticmethod def forward(ctx, x) ... Relu.apply(x)
# torch: DeprecationWarning (line 7): <class '__main__.Relu'> should not be instantiated. Methods
#     on autograd functions are all static, so you should invoke them on the class itself.
#     Instantiating an autograd function will raise an error in a future version ; RuntimeError
#     (line 7): Legacy autograd function with non-static forward method is deprecated. Please use
#     new-style autograd function with static forward method. (Example:
#     https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)
# source: jcjohnson/pytorch-examples#15

import torch
class Relu(torch.autograd.Function):
    def forward(self, x):  #! cause
        self.save_for_backward(x)
        return x.clamp(min=0)
    def backward(self, g): return g
Relu()(torch.ones(1, requires_grad=True))  #! symptom
