# title: It looks alike, but a product with another variable saved the tensor that is padded
# kind: saved_tensor_mutated
# variable: h
# says: The product saved `h`, and rows of it were set afterwards.
# fix: write before the product, or into a clone
# raises: RuntimeError

import torch
w = torch.ones(3, requires_grad=True)
def weigh(x):
    h = x + 1
    out = h * w
    h[2:] = 0  #! cause
    return out.sum() + h.sum()
x = torch.ones(4, 3, requires_grad=True)
# %%
weigh(x).backward()  #! symptom
