# title: A model is made again under another name; the optimizer of an earlier cell has the old one
# kind: unreached_param
# variable: draft
# says: draft gets no gradient: the loss reached model, which no optimizer has.
# fix: Make opt anew, of the parameters of model.

import torch
draft = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
opt = torch.optim.Adam(draft.parameters(), lr=0.1)
# %%
model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Linear(4, 1))
# %%
def step(x):
    opt.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    opt.step()  #! cause symptom
for _ in range(2):
    step(torch.ones(3, 2))
