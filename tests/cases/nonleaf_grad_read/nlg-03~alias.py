# title: A second name of the input goes through the layers, and its gradient is read
# kind: nonleaf_grad_read
# variable: h
# says: `h` is computed; gradients are kept for the leaves behind it, `x` among them
# fix: h.retain_grad(), before backward

import torch
layers = [torch.nn.Linear(3, 3) for _ in range(2)]
x = torch.ones(2, 3, requires_grad=True)
h = x
for layer in layers:
    h = torch.relu(layer(h))  #! cause
h.sum().backward()
print(h.grad)  #! symptom
