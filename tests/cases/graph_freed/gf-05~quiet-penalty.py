# title: A penalty without saved tensors is part of every loss
# kind: graph_freed
# quiet: true

import torch
w, b = torch.ones(3, requires_grad=True), torch.zeros(1, requires_grad=True)
reg = w.sum() + b.sum()
for _ in range(3):
    w.grad = b.grad = None
    loss = (w ** 2).sum() + reg
    loss.backward()
