# title: A slice of a weight taken under no_grad is made to require grad
# kind: grad_mode
# variable: head
# says: `head` is a view of `w` taken with grad mode off; requires_grad_() makes a leaf of its own
#     of it, and `w` gets no gradient.
# fix: head = w[:2], outside of torch.no_grad(), and without requires_grad_()

import torch
w = torch.nn.Parameter(torch.ones(4, 2))
with torch.no_grad():
    head = w[:2]  #! cause
head.requires_grad_()
head.sum().backward()
print(w.grad)  #! symptom
# === fixed
import torch
w = torch.nn.Parameter(torch.ones(4, 2))
head = w[:2]
head.requires_grad_()
head.sum().backward()
print(w.grad)
# === check
assert w.grad.sum() == 4
