# title: Clamps that nothing runs into, or that keep a value away from zero
# kind: degenerate_grad
# quiet: true

import torch
scale = torch.nn.Parameter(torch.tensor([0.5, 1.]))
image = torch.tensor([0.2, 0.9], requires_grad=True)
p = torch.tensor([0., 1.], requires_grad=True)
loss = (image.clamp(0, 1) / scale.clamp(min=1e-6)).sum()
loss = loss - p.clamp(1e-7, 1 - 1e-7).log().sum() - (1 - p.clamp(1e-7, 1 - 1e-7)).log().sum()
loss.backward()
