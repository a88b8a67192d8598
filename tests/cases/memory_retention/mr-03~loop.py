# title: A Hessian-vector product by two backward calls
# kind: memory_retention
# variable: x
# says: x.grad has a graph that refers to x.
# fix: g, = torch.autograd.grad(f, x, create_graph=True)
# torch: no error, no warning

import torch
class Product:
    def __init__(self, x):
        self.x = x
    def of(self, f, v):
        f.backward(create_graph=True)  #! cause symptom
        return (self.x.grad * v).sum()
x = torch.ones(3, requires_grad=True)
hv, = torch.autograd.grad(Product(x).of(x.exp().prod(), torch.arange(3.)), x)
