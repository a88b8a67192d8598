# title: softplus written out overflows
# kind: degenerate_grad
# variable: z
# says: exp overflowed to inf.
# fix: torch.nn.functional.softplus(z)

import torch
z = torch.tensor([1., 120.], requires_grad=True)
grown = torch.exp(z)  #! cause
soft = torch.log(1 + grown)
torch.where(z > 50, z, soft).sum().backward()  #! symptom
