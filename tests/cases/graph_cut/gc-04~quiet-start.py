# title: A new leaf that starts from a computed value, and is the one to be trained
# kind: graph_cut
# quiet: true

import torch
enc = torch.nn.Linear(2, 2)
code = enc(torch.ones(1, 2))
delta = torch.tensor(code.tolist(), requires_grad=True)
z = torch.tensor(code, requires_grad=True)
opt = torch.optim.SGD([delta, z], lr=0.1)
for _ in range(3):
    opt.zero_grad()
    (delta.square().sum() + (z - 1).square().sum()).backward()
    opt.step()
