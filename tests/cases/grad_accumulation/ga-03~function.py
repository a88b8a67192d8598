# title: A helper that clears, and a caller that steps every third time
# kind: grad_accumulation
# variable: model.0.weight

import torch
from torch import nn

def accumulate(model, x):
    model.zero_grad()  #! cause
    nn.functional.softplus(model(x)).sum().backward()

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 3), nn.GELU(), nn.Linear(3, 1))
opt = torch.optim.AdamW(model.parameters())
# %%
for i, x in enumerate(torch.randn(9, 5, 2)):
    accumulate(model, x)
    if i % 3 == 2:
        opt.step()  #! symptom
