# title: A function masks the whole batch after a row was taken
# kind: retain_grad_misuse
# variable: row
# says: the in-place write to the base bypasses the view.

import torch
def mask(batch):
    batch.masked_fill_(torch.eye(3).bool(), 0.)  #! cause
lin = torch.nn.Linear(3, 3)
batch = lin(torch.ones(3, 3))
row = batch[1]
entry = row[2]
row.retain_grad()
mask(batch)
entry.backward()
print(row.grad)  #! symptom
