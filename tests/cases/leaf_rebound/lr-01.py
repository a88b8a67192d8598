# title: w = w - lr*w.grad inside no_grad: the new w neither requires grad nor has .grad
# kind: leaf_rebound
# variable: slope
# says: Line 7 bound the name `slope` to a brand-new tensor without requires_grad; the leaf from
#     line 2 is gone.
# fix: slope -= 0.01 * slope.grad (in-place, inside no_grad), then slope.grad = None.
# torch: AttributeError (line 8): 'NoneType' object has no attribute 'zero_'
# source: pytorch/pytorch#74158

import torch
slope = torch.tensor(1., requires_grad=True)
for _ in range(2):
    err = (slope * 4 - 8) ** 2
    err.backward()
    with torch.no_grad():
        slope = slope - 0.01 * slope.grad  #! cause
    slope.grad.zero_()  #! symptom
