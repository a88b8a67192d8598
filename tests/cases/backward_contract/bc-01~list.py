# title: one of several roots is a vector, in a method
# kind: backward_contract
# variable: second
# raises: RuntimeError

import torch
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.ones(3))
    def losses(self):
        first = self.a.sum()
        second = self.a * 2  #! cause
        torch.autograd.backward([first, second])  #! symptom
Two().losses()
