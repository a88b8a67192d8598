# title: Another reason for an optimizer's refusal
# kind: hidden_leaf
# raises: ValueError
# quiet: true

import torch
w = torch.rand(3, requires_grad=True)
h = w * 2
torch.optim.SGD([w], lr=-1.0)
