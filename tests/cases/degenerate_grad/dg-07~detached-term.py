# title: A clamped prediction beside a detached term that is no quantiser
# kind: degenerate_grad
# variable: pred
# says: One element lies outside the clamp.
# fix: Clamp only what is shown.

import torch
res = torch.nn.Parameter(torch.tensor([0.2, 1.7]))
pred = res.clamp(0, 1)  #! cause
offset = (pred.mean() - pred).detach()
((pred + offset - 0.5) ** 2 * torch.tensor([1., 2.])).sum().backward()  #! symptom
