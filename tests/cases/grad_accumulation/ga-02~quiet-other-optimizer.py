# title: Only the other network's gradients are cleared before the step
# kind: grad_accumulation
# quiet: true

import torch
a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
opt_a = torch.optim.SGD(a.parameters(), lr=0.1)
opt_b = torch.optim.SGD(b.parameters(), lr=0.1)
for _ in range(5):
    opt_a.zero_grad()
    b(a(torch.ones(1, 2))).sum().backward()
    opt_b.zero_grad()
    opt_a.step()
