# title: An input goes through a list of layers under its own name
# kind: leaf_rebound
# variable: x
# says: this line computes a new tensor, and `x` no longer names the leaf
# fix: x_leaf = x before the loop, and x_leaf.grad

import torch
layers = [torch.nn.Linear(3, 3) for _ in range(3)]
x = torch.ones(2, 3, requires_grad=True)
for layer in layers:
    x = torch.relu(layer(x))  #! cause
x.sum().backward()
print(x.grad)  #! symptom
