# title: The generator runs anew in every step
# kind: saved_tensor_mutated
# quiet: true

import torch
G = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
opt = torch.optim.SGD(G.parameters(), lr=0.1)
for _ in range(3):
    fake = G(torch.ones(1, 2))
    opt.zero_grad()
    fake.mean().backward()
    opt.step()
