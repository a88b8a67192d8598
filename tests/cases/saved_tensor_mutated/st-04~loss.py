# title: One loss is backpropagated and stepped on, again and again
# kind: saved_tensor_mutated
# variable: loss
# says: `loss` was computed with the weights before the first step.
# fix: Compute loss inside the loop.
# raises: RuntimeError

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
opt = torch.optim.Adam(net.parameters())
loss = net(torch.ones(4, 2)).pow(2).mean()  #! cause
for _ in range(3):
    opt.zero_grad()
    loss.backward(retain_graph=True)  #! symptom
    opt.step()
