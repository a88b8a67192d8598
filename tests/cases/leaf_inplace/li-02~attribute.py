# title: A regression class decays its weight with *=
# kind: leaf_inplace
# variable: self.w
# says: *= is in place, on a leaf.

import torch
class Ridge:
    def __init__(self):
        self.w = torch.zeros(4, requires_grad=True)
    def fit(self, x, y):
        for _ in range(2):
            ((x @ self.w - y) ** 2).mean().backward()
            self.w *= 0.99  #! cause symptom
# %%
Ridge().fit(torch.eye(4), torch.ones(4))
