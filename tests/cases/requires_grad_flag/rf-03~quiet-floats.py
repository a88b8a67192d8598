# title: Floats of several makers, and integers that do not ask
# kind: requires_grad_flag
# quiet: true

import torch
values = [1, 2, 3]
steps = torch.arange(3.0, requires_grad=True)
knots = torch.tensor([float(v) for v in values], requires_grad=True)
z = torch.tensor([1 + 2j], requires_grad=True)
index = torch.tensor(values, requires_grad=False)
mask = torch.ones(3, dtype=torch.bool)
low = torch.zeros(3, dtype=torch.bfloat16, requires_grad=True)
((steps * knots)[mask].sum() + z.abs().sum() + low.float()[index - 1].sum()).backward()
