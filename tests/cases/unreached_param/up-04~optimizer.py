# title: The optimizer has the parameters of one module, the loss trains another
# kind: unreached_param
# variable: first
# says: first gets no gradient: the loss reached second, which no optimizer has.
# fix: opt = torch.optim.SGD(second.parameters(), lr=0.1)

import torch
first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
opt = torch.optim.SGD(first.parameters(), lr=0.1)  #! cause
before = second.weight.detach().clone()
for _ in range(3):
    opt.zero_grad()
    second(torch.ones(4, 3)).pow(2).mean().backward()
    opt.step()  #! symptom

# === fixed
import torch
first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
opt = torch.optim.SGD(second.parameters(), lr=0.1)
before = second.weight.detach().clone()
for _ in range(3):
    opt.zero_grad()
    second(torch.ones(4, 3)).pow(2).mean().backward()
    opt.step()

# === check
assert not torch.equal(second.weight, before)
