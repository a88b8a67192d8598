# title: Editing one row/column of a trained weight
# kind: leaf_inplace
# variable: lin.weight
# says: Row edit inside the leaf parameter lin.weight outside no_grad.
# fix: with torch.no_grad(): lin.weight[0].mul_(0.5)
# torch: RuntimeError (line 3): a view of a leaf Variable that requires grad is being used in an
#     in-place operation.
# source: Hunter-DDM/knowledge-neurons#14

import torch
lin = torch.nn.Linear(4, 2)
lin.weight[0].mul_(0.5)  #! cause symptom
