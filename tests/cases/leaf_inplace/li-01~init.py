# title: A parameter is filled in __init__ by its own method
# kind: leaf_inplace
# variable: self.scale
# says: self.scale is a leaf; fill it with torch.nn.init or under no_grad.

import torch
class Scaled(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.empty(dim))
        self.scale.uniform_(-1, 1)  #! cause symptom
Scaled(8)
