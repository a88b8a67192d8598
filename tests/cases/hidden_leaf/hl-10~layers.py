# title: A small net by hand: scaled weights in a list of layers
# kind: hidden_leaf
# variable: w
# says: the weights were scaled after the flag; they are computed.
# raises: TypeError

import torch
sizes = [3, 4, 1]
layers = [torch.randn(i, o, requires_grad=True) / i ** 0.5 for i, o in zip(sizes, sizes[1:])]  #! cause
x = torch.ones(2, 3)
for w in layers:
    x = (x @ w).relu()
x.sum().backward()
with torch.no_grad():
    for w in layers:
        w -= 0.1 * w.grad  #! symptom
