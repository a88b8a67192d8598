# title: A row of a table is taken under no_grad and trained on
# kind: grad_mode
# variable: row
# says: row is a view taken under no_grad; backward reaches neither it nor the table.

import torch
table = torch.randn(4, 3, requires_grad=True)
target = torch.ones(3)
with torch.no_grad():
    row = table[2]  #! cause
for _ in range(2):
    loss = torch.nn.functional.mse_loss(row, target)
    loss.backward()
print(table.grad)  #! symptom
