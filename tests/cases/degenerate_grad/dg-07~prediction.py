# title: The prediction of a network, clamped, all of it outside the bounds
# kind: degenerate_grad
# variable: out
# says: All elements of `out` lie outside, so that no parameter gets a gradient.
# fix: Use a sigmoid, or clamp only what is shown.

import torch
net = torch.nn.Linear(2, 1)
torch.nn.init.constant_(net.bias, 7.)
def forward(x):
    out = net(x).clamp(0, 1)  #! cause
    return out
loss = torch.nn.functional.mse_loss(forward(torch.ones(4, 2)), torch.zeros(4, 1))
loss.backward()  #! symptom
