# title: In a module that a function builds and throws away
# kind: param_wiring
# variable: self.bias
# says: double() returned a plain tensor.
# fix: nn.Parameter(torch.zeros(2, dtype=torch.float64))

import torch
class Shift(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(2)).double().view(1, 2)  #! cause
    def forward(self, x):
        return x + self.bias
def count():
    model = Shift()
    model(torch.ones(1, 2).double()).sum().backward()
    return len(list(model.parameters()))  #! symptom
print(count())
