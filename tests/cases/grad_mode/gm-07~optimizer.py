# title: An optimizer of the model never finds a gradient: the loss uses a view under another name
# kind: grad_mode
# variable: row
# says: `row` is a view of the weight taken with grad mode off, made a leaf of its own.
# fix: Take the view outside of torch.no_grad(), and without requires_grad_().

import torch
table = torch.nn.Embedding(3, 2)
opt = torch.optim.SGD(table.parameters(), lr=0.1)
def fit(index):
    with torch.no_grad():
        row = table.weight[index]  #! cause
    row.requires_grad = True
    (row - 1).pow(2).sum().backward()
fit(1)
opt.step()
print(table.weight.grad)  #! symptom
