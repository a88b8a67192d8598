# title: A whole net runs under no_grad, and the loss is made to require grad
# kind: graph_cut
# variable: model.fc.weight
# says: model.fc.weight and model.fc.bias get no gradient: predict runs under no_grad.
# fix: delete the decorator, and the line that sets loss.requires_grad

import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 1)
    @torch.no_grad()  #! cause
    def forward(self, x):
        return self.fc(x)
# %%
model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
def step(x, y):
    opt.zero_grad()
    loss = (model(x) - y).abs().mean()
    loss.requires_grad_(True)
    loss.backward()
    opt.step()  #! symptom
for _ in range(2):
    step(torch.ones(4, 2), torch.zeros(4, 1))
