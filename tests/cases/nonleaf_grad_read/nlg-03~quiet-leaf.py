# title: Gradients of leaves set by hand before a step
# kind: nonleaf_grad_read
# quiet: true

import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.theta = torch.nn.Parameter(torch.ones(5))
model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for round in range(3):
    for p in model.parameters():
        p.grad = torch.randn_like(p)
    opt.step()
x = model.theta.detach() * 2
x.grad = torch.zeros(5)
