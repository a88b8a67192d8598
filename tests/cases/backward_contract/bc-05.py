# title: Casting complex to real in the middle of a graph
# kind: backward_contract
# variable: r
# says: Line 3 dropped the imaginary part, so z.grad has no imaginary part.
# fix: Use z.abs() or torch.view_as_real(z).
# torch: UserWarning (line 3): Casting complex values to real discards the imaginary part; prints:
#     tensor(2.+0.j)
# source: wavefrontshaping/complexPyTorch#10

import torch
z = torch.tensor(1 + 2j, requires_grad=True)
r = z.to(torch.float32)  #! cause
(r ** 2).backward()
print(z.grad)  #! symptom
