# title: Two elements of a leaf set on one line
# kind: leaf_inplace
# variable: x
# says: `x` is a leaf that requires grad
# fix: with torch.no_grad(): x[0, 0] = 1; x[1, 1] = 1

import torch
x = torch.zeros(2, 2, requires_grad=True)
x[0, 0] = 1; x[1, 1] = 1  #! cause symptom
