# title: setup_context stores what it computes
# kind: custom_function
# variable: context.inv
# says: context.inv lives as long as the graph.

import torch
from torch.autograd import Function
class Solve(Function):
    @staticmethod
    def forward(a, b):
        return torch.linalg.solve(a, b)
    @staticmethod
    def setup_context(context, inputs, output):
        a, b = inputs
        context.inv = torch.exp(-a)  #! cause
        context.save_for_backward(a, output)
    @staticmethod
    def backward(context, g):
        a, x = context.saved_tensors
        gb = torch.linalg.solve(a.t(), g) + 0 * context.inv
        return None, gb
b = torch.ones(2, 2, requires_grad=True)
Solve.apply(torch.eye(2) * 2, b).sum().backward()  #! symptom
