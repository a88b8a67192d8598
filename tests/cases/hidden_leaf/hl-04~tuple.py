# title: Two names are rebound to their own transposes at once
# kind: hidden_leaf
# variable: right
# says: the name was rebound to a view of the leaf.

import torch
left = torch.ones(2, 3, requires_grad=True)
right = torch.ones(2, 3, requires_grad=True)
# %%
left_t, right = left.t(), right.transpose(0, 1)  #! cause
(left_t * right).sum().backward()
print(left.grad, right.grad)  #! symptom
