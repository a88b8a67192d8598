# title: clamp on the output stops the gradient where it saturates
# kind: degenerate_grad
# variable: pred
# says: 1 of 2 elements of `pred` sits outside [0, 1]: its gradient is exactly 0 and it will never
#     move back.
# fix: Clamp only for display, or use a straight-through/sigmoid.
# torch: no error, no warning; prints: tensor([-0.6000, 0.0000])
# source: MCG-NJU/EMA-VFI#27

import torch
res = torch.nn.Parameter(torch.tensor([0.2, 1.7]))
pred = torch.clamp(res, 0, 1)  #! cause
((pred - 0.5) ** 2).sum().backward()
print(res.grad)  #! symptom
