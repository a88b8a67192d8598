# title: An array that is filled anew before each forward pass
# kind: untracked_write
# quiet: true

import numpy as np
import torch
buffer = np.zeros(3, dtype=np.float32)
batch = torch.from_numpy(buffer)
w = torch.ones(3, requires_grad=True)
seen = w.detach().numpy()
opt = torch.optim.SGD([w], lr=0.1)
for i in range(5):
    buffer[:] = i
    opt.zero_grad()
    loss = (w * batch).pow(2).sum()
    loss.backward()
    opt.step()
    mean = seen.mean()
