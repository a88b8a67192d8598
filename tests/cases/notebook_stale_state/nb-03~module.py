# title: A network in one cell, its backward in the next, which is run three times
# kind: notebook_stale_state
# variable: net.0.weight

import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
x, y = torch.randn(6, 3), torch.randn(6, 1)
# %%
out = net(x)
torch.nn.functional.mse_loss(out, y).backward()  #! cause
print([p.grad.norm() for p in net.parameters()])  #! symptom
# %% rerun 2
# %% rerun 2
