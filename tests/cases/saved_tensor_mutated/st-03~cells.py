# title: Two losses of one cell, and a step between their backward passes in the next
# kind: saved_tensor_mutated
# variable: net.2.weight
# says: The product of cell 1 saved `net.2.weight`; the first step changed it.
# fix: Run both backward passes before the steps.
# raises: RuntimeError

import torch
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(4, 3)
first = net(x).mean()
second = net(x).pow(2).mean()
# %%
opt.zero_grad()
first.backward()
opt.step()  #! cause
opt.zero_grad()
second.backward()  #! symptom
opt.step()
