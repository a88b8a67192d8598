# title: The regularizing term was computed and then left out of the loss
# kind: unreached_param
# variable: scale
# says: scale is used for prior only, which is no part of the loss.
# fix: add prior to the loss

import torch
w = torch.ones(3, requires_grad=True)
scale = torch.ones(3, requires_grad=True)  #! cause
def step():
    fit = (w ** 2).sum()
    prior = (scale.log() ** 2).sum() + 1
    loss = fit
    loss.backward()
for _ in range(2):
    step()
print(w.grad, scale.grad)  #! symptom
