# title: A parameter is replaced by a parameter, or written under no_grad
# kind: param_wiring
# quiet: true

import torch
layer = torch.nn.Linear(2, 2)
layer.bias = torch.nn.Parameter(torch.zeros(2))
layer.register_parameter("bias", None)
layer.bias = torch.nn.Parameter(torch.ones(2))
with torch.no_grad():
    layer.weight.copy_(torch.eye(2))
layer(torch.ones(1, 2)).sum().backward()
print(layer.bias.grad)
