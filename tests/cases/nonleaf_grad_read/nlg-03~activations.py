# title: The gradients of a list of hidden states are read in a loop
# kind: nonleaf_grad_read
# variable: x
# says: what the loop calls h is x of line 11; retain it there.
# fix: x.retain_grad() after line 11

import torch
x, hidden = torch.ones(3, requires_grad=True), []
start = x
for _ in range(3):
    x = torch.tanh(x * 2)  #! cause
    hidden.append(x)
x.sum().backward()
for h in hidden:
    print(h.grad)  #! symptom

# === fixed
import torch
x, hidden = torch.ones(3, requires_grad=True), []
start = x
for _ in range(3):
    x = torch.tanh(x * 2)
    x.retain_grad()
    hidden.append(x)
x.sum().backward()
for h in hidden:
    print(h.grad)

# === check
assert all(h.grad is not None for h in hidden)
