# title: A table is moved to the device as it is made
# kind: hidden_leaf
# variable: self.table
# says: .to(device) copies on another device, and the leaf has no name.

import torch
device = torch.device("meta")
class Table:
    def __init__(self):
        self.table = torch.zeros(4, 2, requires_grad=True).to(device)  #! cause
# %%
t = Table()
print(t.table.is_leaf)  #! symptom
