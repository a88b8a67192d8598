# title: Padding row of an embedding is zeroed in a loop over tables
# kind: leaf_inplace
# variable: table.weight
# says: the row is a view of a leaf.

import torch
tables = torch.nn.ModuleList(torch.nn.Embedding(5, n) for n in (2, 3))
for table in tables:
    table.weight[0] = 0  #! cause symptom
