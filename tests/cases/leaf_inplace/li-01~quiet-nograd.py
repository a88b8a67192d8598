# title: The same optimizer, decorated
# kind: leaf_inplace
# quiet: true

import torch
class Sgd:
    def __init__(self, params, lr):
        self.params, self.lr = list(params), lr
    @torch.no_grad()
    def step(self):
        for param in self.params:
            param.sub_(self.lr * param.grad)
            param.grad = None
net = torch.nn.Linear(3, 1)
opt = Sgd(net.parameters(), 1e-2)
# %%
for _ in range(3):
    net(torch.ones(5, 3)).sum().backward()
    opt.step()
# %% rerun 2
