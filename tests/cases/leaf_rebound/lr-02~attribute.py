# title: An object replaces its weight with the updated one
# kind: leaf_rebound
# variable: self.w
# says: self.w is a computed tensor after the first step.

import torch
class Perceptron:
    def __init__(self, n):
        self.w = torch.zeros(n, requires_grad=True)
    def step(self, x, y):
        loss = (x @ self.w - y).square().sum()
        loss.backward()
        self.w = self.w - 0.1 * self.w.grad  #! cause
        return loss
# %%
unit = Perceptron(2)
unit.step(torch.eye(2), torch.ones(2))
unit.step(torch.eye(2), torch.ones(2))  #! symptom
