# title: A weight that an object holds is zeroed first
# kind: leaf_rebound
# variable: self.k
# says: self.k.grad is None until the first backward.
# raises: AttributeError

import torch
class Spring:
    def __init__(self):
        self.k = torch.tensor(2.0, requires_grad=True)
    def relax(self, x):
        self.k.grad.detach_()  #! cause symptom
        self.k.grad.zero_()
        (self.k * x).backward()
# %%
Spring().relax(3.0)
