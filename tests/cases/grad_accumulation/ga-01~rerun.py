# title: A training cell without zero_grad, run again
# kind: grad_accumulation
# variable: w

import torch
w = torch.zeros(2, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
# %%
loss = ((w - 1) ** 2).sum()
loss.backward()  #! cause
opt.step()  #! symptom
# %% rerun 2
# %% rerun 2
