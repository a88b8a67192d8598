# title: zero_grad inside the micro-batch loop defeats gradient accumulation
# kind: grad_accumulation
# variable: w
# says: Only the last of 4 micro-batches reached the step (w=-4, expected -10): zero_grad ran
#     before every backward.
# fix: Call zero_grad only after step().
# torch: no error, no warning; prints: -4.0
# source: bytetriper/RAE#67

import torch
w = torch.nn.Parameter(torch.zeros(1))
opt = torch.optim.SGD([w], lr=1.)
for i in range(4):
    opt.zero_grad()  #! cause
    (w * (i + 1)).sum().backward()
    if i % 4 == 3: opt.step()  #! symptom
print(w.item())

# === fixed
import torch
w = torch.nn.Parameter(torch.zeros(1))
opt = torch.optim.SGD([w], lr=1.)
for i in range(4):
    (w * (i + 1)).sum().backward()
    if i % 4 == 3: opt.step(); opt.zero_grad()

# === check
assert w.item() == -10
