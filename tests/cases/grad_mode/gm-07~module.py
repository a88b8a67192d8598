# title: A decorated helper of a module hands out views of its weight
# kind: grad_mode
# variable: w
# says: the views are phantom leaves.

import torch
class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2, 3))
    @torch.no_grad()
    def rows(self):
        w = self.weight.t()  #! cause
        return w
    def forward(self, x):
        w = self.rows()
        return (x @ w).square().sum()
tied = Tied()
tied(torch.ones(1, 3)).backward()
print(tied.weight.grad)  #! symptom
