# title: A helper moves what it made to the type of another tensor
# kind: hidden_leaf
# variable: noise
# says: type_as copied; the leaf has no name.

import torch
def perturb(model, batch):
    noise = torch.zeros(3)
    noise.requires_grad_()
    noise = noise.type_as(batch)  #! cause
    model(batch + noise).square().sum().backward()
    return noise.grad  #! symptom
net = torch.nn.Linear(3, 2, dtype=torch.float64)
# %%
perturb(net, torch.ones(1, 3, dtype=torch.float64))
