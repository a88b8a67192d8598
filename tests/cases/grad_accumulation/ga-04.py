# title: zero_grad at the start of an epoch discards gradients still waiting for a step
# kind: grad_accumulation
# variable: w
# says: Line 5 erased the gradient that epoch 0 left waiting for a step: w=-4 where -5 is right
#     (and the last pass of epoch 1 is still pending).
# fix: zero_grad only right after step; handle the remainder at epoch end.
# torch: no error, no warning; prints: -4.0
# source: ultralytics/ultralytics#11217

import torch
w = torch.nn.Parameter(torch.zeros(1))
opt = torch.optim.SGD([w], lr=1.)
for epoch in range(2):
    opt.zero_grad()  #! cause
    for i in range(3):
        (w * 1).sum().backward()
        if i % 2 == 1: opt.step(); opt.zero_grad()
print(w.item())  #! symptom

# === fixed
import torch
w = torch.nn.Parameter(torch.zeros(1))
opt = torch.optim.SGD([w], lr=1.)
for epoch in range(2):
    for i in range(3):
        (w * 1).sum().backward()
        if i % 2 == 1 or i == 2: opt.step(); opt.zero_grad()

# === check
assert w.item() == -6
