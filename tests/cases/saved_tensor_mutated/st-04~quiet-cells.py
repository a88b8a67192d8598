# title: A kept graph is used again in later cells, and the step comes last
# kind: saved_tensor_mutated
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
out = net(torch.ones(1, 2))
near, far = out.pow(2).mean(), out.abs().mean()
# %%
near.backward(retain_graph=True)
# %%
far.backward()
opt.step()
