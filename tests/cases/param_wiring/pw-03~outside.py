# title: A temperature is set on a finished model in the next cell
# kind: param_wiring
# variable: model.temperature
# says: model.temperature gets gradients, but opt does not have it.
# fix: model.temperature = torch.nn.Parameter(torch.ones(1))

import torch
model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
# %%
model.temperature = torch.ones(1, requires_grad=True)  #! cause
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    (model(torch.ones(2, 3)) / model.temperature).square().mean().backward()
    opt.step()  #! symptom
