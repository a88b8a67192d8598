# title: The layers of a model are updated by hand, from outside, in a loop
# kind: param_wiring
# variable: layer.weight
# says: layer.weight is a registered parameter; the result of the update cannot take its place.
# fix: with torch.no_grad(): layer.weight -= ...
# raises: TypeError

import torch
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
# %%
x = torch.ones(4, 2)
for epoch in range(2):
    model(x).square().mean().backward()
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            step = 0.1 * layer.weight.grad
            layer.weight = layer.weight - step  #! cause symptom
