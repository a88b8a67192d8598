# title: Both players run backward before either steps
# kind: saved_tensor_mutated
# quiet: true

import torch
D, G = torch.nn.Linear(2, 1), torch.nn.Linear(2, 2)
one, two = torch.optim.SGD(D.parameters(), lr=0.1), torch.optim.SGD(G.parameters(), lr=0.1)
for step in range(2):
    fake = G(torch.ones(1, 2))
    one.zero_grad()
    (-D(fake.detach()).mean()).backward()
    one.step()
    two.zero_grad()
    D(fake).mean().backward()
    two.step()
