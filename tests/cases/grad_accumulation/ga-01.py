# title: zero_grad missing: gradients of all iterations add up
# kind: grad_accumulation
# variable: w
# says: w.grad grew 2 -> 4 -> 6: backward ran 3 times with a step in between and the gradient was
#     never cleared.
# fix: opt.zero_grad() at the top of the loop.
# torch: no error, no warning; prints: 2.0 | 4.0 | 6.0
# source: pytorch/pytorch#47175

import torch
w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.SGD([w], lr=0.0)
for _ in range(3):
    (w * 2).sum().backward()  #! cause
    opt.step()
    print(w.grad.item())  #! symptom

# === fixed
import torch
w = torch.nn.Parameter(torch.ones(1))
opt = torch.optim.SGD([w], lr=0.0)
seen = []
for _ in range(3):
    opt.zero_grad()
    (w * 2).sum().backward()
    opt.step()
    seen.append(w.grad.item())

# === check
assert seen == [2.0, 2.0, 2.0]
