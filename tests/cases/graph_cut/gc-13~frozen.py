# title: All of a net is frozen in a loop, and then it is to be trained
# kind: graph_cut
# variable: net.weight
# says: nothing behind the loss requires grad: line 4 freezes net.weight and net.bias.
# fix: p.requires_grad = True, or no such line
# torch: RuntimeError (line 6): element 0 of tensors does not require grad and does not have a
#     grad_fn

import torch
net = torch.nn.Linear(3, 1)
for p in net.parameters():
    p.requires_grad = False  #! cause
loss = net(torch.randn(2, 3)).sum()
loss.backward()  #! symptom
# === fixed
import torch
net = torch.nn.Linear(3, 1)
for p in net.parameters():
    p.requires_grad = True
loss = net(torch.randn(2, 3)).sum()
loss.backward()
# === check
assert net.weight.grad is not None
