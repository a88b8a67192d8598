# title: Cleared at the end of the training cell, read in the next cell
# kind: grad_accumulation
# variable: w
# raises: TypeError

import torch
w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
# %%
for _ in range(2):
    (w ** 2).sum().backward()
    opt.step()
    opt.zero_grad()  #! cause
# %%
print(w.grad * 2)  #! symptom
