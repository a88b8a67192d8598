# title: Two lookups of a siamese net, with a projection of the table between them
# kind: leaf_inplace
# variable: weight
# says: the functional lookup renormalises the weight that the matrix product had saved.
# raises: RuntimeError

import torch
import torch.nn.functional as F
weight = torch.nn.Parameter(torch.randn(5, 3))
proj = torch.nn.Linear(3, 3)
scores = proj(weight)
left = F.embedding(torch.tensor([1, 2]), weight, max_norm=0.01)  #! cause
(scores.sum() + left.sum()).backward()  #! symptom
