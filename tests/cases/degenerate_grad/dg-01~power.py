# title: A power of one half instead of a root, in a loop, at zero
# kind: degenerate_grad
# variable: rate
# says: The derivative of this power at 0 is infinite.
# fix: (rate + 1e-12) ** 0.5

import torch
rate = torch.nn.Parameter(torch.tensor([0., 1., 4.]))
opt = torch.optim.SGD([rate], lr=0.1)
for step in range(3):
    opt.zero_grad()
    loss = (rate ** 0.5).sum()  #! cause
    loss.backward()  #! symptom
    opt.step()
