# title: A view of a flagged tensor is made, and a clone of it is watched
# kind: hidden_leaf
# variable: rows
# says: rows is a view of a leaf without a name; retaining its clone does not retain it.

import torch
rows = torch.eye(3, requires_grad=True).flatten()  #! cause
work = rows.clone()
work.retain_grad()
def score(t):
    return (t * torch.arange(9.)).sum()
score(work).backward()
for t in (work,):
    print(t.grad)
print(rows.grad)  #! symptom
