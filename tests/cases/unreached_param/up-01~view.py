# title: autograd.grad for a row that was taken after the loss was computed from the whole
# kind: unreached_param
# variable: row
# says: the loss was computed from x, not from row, which was made from x.
# fix: ask for the gradient of x

import torch
def energy(x):
    e = (x ** 3).sum()  #! cause
    return e
x = torch.ones(3, 2, requires_grad=True)
row = x[0]
torch.autograd.grad(energy(x), row)  #! symptom
