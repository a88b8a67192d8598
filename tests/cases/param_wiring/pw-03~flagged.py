# title: A table whose flag is set by hand, trained over several cells
# kind: param_wiring
# variable: model.table
# says: model.table gets gradients but no optimizer has it.
# fix: nn.Parameter

import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        table = torch.zeros(4, 2)
        table.requires_grad = True
        self.table = table  #! cause
        self.out = torch.nn.Linear(2, 1)
    def forward(self, i):
        return self.out(self.table[i])
# %%
model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.5)
# %%
for i in range(4):
    opt.zero_grad()
    model(torch.tensor([i])).sum().backward()
    opt.step()  #! symptom
