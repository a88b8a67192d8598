# title: An optimizer is given scaled random tensors of a comprehension
# kind: hidden_leaf
# variable: noises
# says: what it holds was computed; the leaves have no name.
# raises: ValueError

import torch
noises = [torch.randn(n, requires_grad=True) * 0.1 for n in (2, 3)]  #! cause
opt = torch.optim.SGD(noises, lr=0.1)  #! symptom
