# title: The batches that make no full group are dropped, as drop_last does
# kind: grad_accumulation
# quiet: true

import torch

w = torch.nn.Parameter(torch.zeros(1))
opt = torch.optim.SGD([w], lr=0.1)
for epoch in range(2):
    opt.zero_grad()
    for i in range(5):
        ((w - 1) ** 2 / 2).sum().backward()
        if i % 2 == 1:
            opt.step()
            opt.zero_grad()
