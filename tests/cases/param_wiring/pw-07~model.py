# title: The model is made anew in a later cell, the optimizer is the old one's
# kind: param_wiring
# variable: opt
# says: opt holds the parameters of the old model.
# fix: create the optimizer again

import torch
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
# %%
model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 1))  #! cause
# %%
for _ in range(2):
    opt.zero_grad()
    model(torch.ones(3, 2)).sum().backward()
    opt.step()  #! symptom
