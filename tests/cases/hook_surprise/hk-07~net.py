# title: a hook for all layers of a network with in-place activations
# kind: hook_surprise
# variable: net[1]

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True), torch.nn.Linear(2, 1))
inputs = {}
def remember(module, args, output):
    x, = args
    inputs[module] = x.detach().clone()
for layer in net:
    layer.register_forward_hook(remember)
for _ in range(2):
    net(torch.randn(4, 2)).sum().backward()  #! cause symptom
