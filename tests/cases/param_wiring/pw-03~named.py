# title: A method that calls its object something else keeps layers in a dict
# kind: param_wiring
# variable: model.heads
# says: what model.heads holds gets gradients, but opt does not have it.
# fix: nn.ModuleDict

import torch
from torch import nn
class Model(nn.Module):
    def __init__(this, tasks):
        nn.Module.__init__(this)
        this.body = nn.Linear(2, 4)
        this.heads = {task: nn.Linear(4, 1) for task in tasks}  #! cause
    def forward(this, x, task):
        return this.heads[task](this.body(x).tanh())
model = Model(("a", "b"))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
# %%
for task in ("a", "b", "a"):
    opt.zero_grad()
    model(torch.ones(3, 2), task).square().mean().backward()
    opt.step()  #! symptom
