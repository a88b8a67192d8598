# title: A loss is kept over a step in one cell and backpropagated again in the next
# kind: saved_tensor_mutated
# variable: loss
# says: The step changed weights that the graph of `loss` saved; retain_graph keeps no weights.
# fix: Compute the loss anew.
# raises: RuntimeError

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(1, 2)).pow(2).mean()  #! cause
# %%
loss.backward(retain_graph=True)
opt.step()
# %%
loss.backward()  #! symptom
