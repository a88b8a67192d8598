# title: Masked entries of a bias are set to minus infinity
# kind: leaf_inplace
# variable: bias
# says: bias[mask] = ... writes into a leaf.

import torch
def mask_out(bias, mask):
    bias[mask] = float("-inf")  #! cause symptom
attn = torch.nn.Parameter(torch.zeros(4, 4))
mask_out(attn, torch.ones(4, 4).triu(1).bool())
