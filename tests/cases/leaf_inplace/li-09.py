# title: Embedding with max_norm renormalises the leaf weight in place during forward
# kind: leaf_inplace
# variable: emb.weight
# says: Line 4 changed emb.weight in place (max_norm renormalisation runs under no_grad inside
#     forward), after line 3 had saved it.
# fix: Compute the regulariser after the lookup, or use emb.weight.clone() in line 3.
# torch: RuntimeError (line 5): one of the variables needed for gradient computation has been
#     modified by an inplace operation: [torch.FloatTensor [3, 2]] is at version 2; expected
#     version 1 instead. Hint: enable anomaly detection to find the operation that failed to
#     compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).
# source: pytorch/pytorch#95167

import torch
emb = torch.nn.Embedding(3, 2, max_norm=1e-3)
reg = (emb.weight ** 2).sum()
out = emb(torch.tensor([0, 1])).sum()  #! cause
(reg + out).backward()  #! symptom
