# title: A home-made optimizer over all parameters
# kind: leaf_inplace
# variable: param
# says: param is a leaf that requires grad, and grad mode is on.

import torch
class Sgd:
    def __init__(self, params, lr):
        self.params, self.lr = list(params), lr
    def step(self):
        for param in self.params:
            param.sub_(self.lr * param.grad)  #! cause symptom
net = torch.nn.Linear(3, 1)
opt = Sgd(net.parameters(), 1e-2)
# %%
net(torch.ones(5, 3)).sum().backward()
opt.step()
