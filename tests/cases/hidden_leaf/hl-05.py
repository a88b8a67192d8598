# title: Optimizer refuses rand(..., requires_grad=True) * 0.01
# kind: hidden_leaf
# variable: canvas
# says: `canvas` is MulBackward0's output; the leaf is the unnamed rand() inside line 2.
# fix: canvas = (0.01 * torch.rand(1, 3, 4, 4)).requires_grad_()
# torch: ValueError (line 3): can't optimize a non-leaf Tensor
# source: pytorch/pytorch#140469

import torch
canvas = 0.01 * torch.rand(1, 3, 4, 4, requires_grad=True)  #! cause
opt = torch.optim.Adam([canvas])  #! symptom
