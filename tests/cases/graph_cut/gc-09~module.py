# title: A layer that computes with weight.data
# kind: graph_cut
# variable: layer.weight
# says: weight is used through .data only.
# fix: x @ self.weight.t() + self.bias

import torch
class Dense(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 3))
        self.bias = torch.nn.Parameter(torch.zeros(2))
    def forward(self, x):
        return x @ self.weight.data.t() + self.bias  #! cause
# %%
layer = Dense()
layer(torch.ones(4, 3)).sum().backward()
print(layer.bias.grad, layer.weight.grad)  #! symptom
