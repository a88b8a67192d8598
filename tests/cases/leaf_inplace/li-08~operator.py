# title: The square root of a leaf is taken in place, by a function of torch
# kind: leaf_inplace
# variable: sigma
# says: torch.sqrt_ is in place.

import torch
sigma = torch.full((3,), 4.).requires_grad_(True)
# %%
def spread(n):
    torch.sqrt_(sigma)  #! cause symptom
    return torch.randn(n, 3) * sigma
spread(5)
