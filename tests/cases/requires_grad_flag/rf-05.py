# title: nn.Parameter around an integer/bool mask
# kind: requires_grad_flag
# variable: mask
# says: Parameters require grad by default and `mask` is integral.
# fix: register_buffer('mask', mask) or nn.Parameter(mask, requires_grad=False)
# torch: RuntimeError (line 3): Only Tensors of floating point and complex dtype can require
#     gradients
# source: jiasenlu/NeuralBabyTalk#26

import torch
mask = torch.tensor([1, 0, 1])
p = torch.nn.Parameter(mask)  #! cause symptom
