# title: A view with a name of its own is written to
# kind: leaf_inplace
# variable: conv.weight
# says: this writes through a view into conv.weight, a leaf.

import torch
conv = torch.nn.Conv2d(1, 4, 3)
half = conv.weight.view(4, 9)[:2]
half.fill_(1 / 9)  #! cause symptom
