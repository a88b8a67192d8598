# title: Quantisers whose clamp is their range: a learned step, a straight-through weight
# kind: degenerate_grad
# quiet: true

import torch
w = torch.tensor([-3., 3., 5.], requires_grad=True)
step = torch.tensor(0.1, requires_grad=True)
q = torch.clamp(w / step, -8, 7)
q = q + (q.round() - q).detach()
((q * step) ** 2).sum().backward()
# %%
v = torch.tensor([-3., .2, 5.], requires_grad=True)
s = 0.1
q = torch.clamp(torch.round(v / s), -8, 7)
((v + (q * s - v).detach()) ** 2).sum().backward()
