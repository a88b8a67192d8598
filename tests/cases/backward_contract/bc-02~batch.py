# title: gradients of each sample instead of their sum
# kind: backward_contract
# variable: w
# raises: RuntimeError

import torch
w = torch.zeros(3, requires_grad=True)
each = torch.stack([torch.full((3,), float(k)) for k in range(4)])
# %%
w.grad = each  #! cause symptom
