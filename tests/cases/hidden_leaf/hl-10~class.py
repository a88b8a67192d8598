# title: Xavier scaling behind requires_grad_, in a class of an earlier cell
# kind: hidden_leaf
# variable: net.w
# says: net.w is computed; its leaf has no name.

import math, torch
class Net:
    def __init__(self, n):
        self.w = torch.randn(n, n).requires_grad_().mul(1 / math.sqrt(n))  #! cause
        self.b = torch.zeros(n, requires_grad=True)
    def __call__(self, x):
        return x @ self.w + self.b
# %%
net = Net(3)
loss = net(torch.ones(2, 3)).square().mean()
loss.backward()
print(net.b.grad is not None)
print(net.w.grad)  #! symptom
