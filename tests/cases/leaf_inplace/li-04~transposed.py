# title: An element of a transposed leaf is set
# kind: leaf_inplace
# variable: w
# says: `w` is a leaf that requires grad
# fix: with torch.no_grad(): w[0, 0] = 5.

import torch
w = torch.randn(2, 3).T
w.requires_grad = True
w[0, 0] = 5.  #! cause symptom
