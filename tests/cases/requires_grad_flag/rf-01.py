# title: param.require_grad = False (missing s) freezes nothing
# kind: requires_grad_flag
# variable: p
# says: Line 4 created a new Python attribute `require_grad`; the flag is `requires_grad`.
# fix: p.requires_grad = False
# torch: no error, no warning; prints: True True
# source: udacity/deep-learning-v2-pytorch#12

import torch
net = torch.nn.Linear(2, 2)
for p in net.parameters():
    p.require_grad = False  #! cause
net(torch.ones(1, 2)).sum().backward()
print(net.weight.requires_grad, net.weight.grad is not None)  #! symptom
