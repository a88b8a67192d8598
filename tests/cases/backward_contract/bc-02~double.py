# title: a gradient in double for a weight in float
# kind: backward_contract
# variable: self.weight
# raises: RuntimeError

import torch
class Model:
    def __init__(self):
        self.weight = torch.zeros(2, 2, requires_grad=True)
    def load(self, array):
        self.weight.grad = torch.tensor(array, dtype=torch.float64)  #! cause symptom
Model().load([[1., 2.], [3., 4.]])
