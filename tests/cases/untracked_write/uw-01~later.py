# title: A function sets rows of what a layer saved, through .data, two cells before backward
# kind: untracked_write
# variable: inputs
# says: The layer of cell 1 saved `inputs`.
# fix: Write to a copy.

import torch
layer = torch.nn.Linear(2, 2)
inputs = torch.ones(3, 2)
total = layer(inputs).tanh().sum()
def mask(rows):
    for row in rows:
        inputs.data[row] = 0.  #! cause
# %%
mask([0, 2])
# %%
print(total.item())
# %%
total.backward()  #! symptom
