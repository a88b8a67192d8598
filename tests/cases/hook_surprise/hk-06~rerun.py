# title: the cell with the hook is run twice
# kind: hook_surprise
# variable: net.weight

import torch
net = torch.nn.Linear(2, 1)
# %%
net.weight.register_hook(lambda g: g.clamp(-1, 1) * 0.1)  #! cause
net.zero_grad()
net(torch.ones(1, 2)).sum().backward()
print(net.weight.grad)  #! symptom
# %% rerun 2
