# title: An array that is filled anew while a graph of its tensor is waiting
# kind: untracked_write
# variable: buffer
# says: `buffer` is the memory of `batch`, which the product saved.
# fix: torch.tensor(buffer) copies.

import numpy as np
import torch
buffer = np.ones(3, dtype=np.float32)
w = torch.zeros(3, requires_grad=True)
losses = []
for i in range(2):
    batch = torch.from_numpy(buffer)
    losses.append((w * batch).sum())
    buffer[:] = i + 7  #! cause
sum(losses).backward()  #! symptom
