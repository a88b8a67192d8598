# title: zeroing .grad before the first backward
# kind: leaf_rebound
# variable: w1
# says: w1.grad is None until the first backward; line 5 runs before it.
# fix: if w1.grad is not None: w1.grad.zero_() — or zero after the update.
# torch: AttributeError (line 5): 'NoneType' object has no attribute 'zero_'
# source: jcjohnson/pytorch-examples#4

import torch
w1 = torch.randn(3, requires_grad=True)
for t in range(2):
    loss = (w1 ** 2).sum()
    w1.grad.zero_()  #! cause symptom
    loss.backward()
