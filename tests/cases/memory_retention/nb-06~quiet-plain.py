# title: An error in a function without computed tensors
# kind: memory_retention
# quiet: true
# raises: ValueError

import torch
def check(n):
    mask = torch.ones(n)
    if n > 2:
        raise ValueError("too many")
    return mask
# %%
check(3)
# %%
print(torch.ones(2, requires_grad=True).sum())
