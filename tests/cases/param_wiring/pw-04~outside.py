# title: A parameter is set to a plain tensor from outside
# kind: param_wiring
# variable: layer.bias
# says: layer.bias is a registered parameter: a plain tensor cannot take its place.
# fix: layer.bias.copy_ under no_grad

import torch
layer = torch.nn.Linear(2, 2)
for _ in range(2):
    layer.bias = torch.zeros(2)  #! cause symptom
