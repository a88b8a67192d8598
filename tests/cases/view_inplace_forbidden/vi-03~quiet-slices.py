# title: slices of the gates may be written
# kind: view_inplace_forbidden
# quiet: true

import torch
gates = torch.ones(1, 8, requires_grad=True) * 1.0
i, f = gates[:, :4], gates[:, 4:]
i.add_(1)
f.mul_(2)
(i * f).sum().backward()
