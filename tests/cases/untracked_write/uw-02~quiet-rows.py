# title: Rows of an array that the batch of this step does not hold
# kind: untracked_write
# quiet: true

import numpy as np
import torch
data = np.random.rand(100, 4).astype("float32")
X = torch.from_numpy(data)
w = torch.zeros(4, requires_grad=True)
for i in range(4):
    batch = X[i * 10:(i + 1) * 10]
    loss = (batch @ w - 1).pow(2).mean()
    data[90 + i] = 0
    w.grad = None
    loss.backward()
data += 1
