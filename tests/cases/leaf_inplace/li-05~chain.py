# title: Columns of the last layer are pruned through a narrowed view
# kind: leaf_inplace
# variable: net.2.weight
# says: narrow() gives a view of the leaf net.2.weight.

import torch
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
net[-1].weight.narrow(1, 0, 2).zero_()  #! cause symptom
