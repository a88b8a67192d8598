# title: The gradient of an activation is what is wanted, and a hook takes it
# kind: grad_accumulation
# quiet: true

import torch
torch.manual_seed(0)
stem, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
opt = torch.optim.SGD([*stem.parameters(), *head.parameters()], lr=0.1)
seen = []

def step(x, train, keep):
    opt.zero_grad()
    h = stem(x).relu()
    if keep == "hook":
        h.register_hook(lambda g: seen.append(g.abs().mean().item()))
    elif keep == "retain":
        h.retain_grad()
    head(h).sum().backward()
    if keep == "retain":
        seen.append(h.grad.abs().mean().item())
    if train:
        opt.step()

for _ in range(3):
    step(torch.randn(2, 3), False, "hook")
for _ in range(3):
    step(torch.randn(2, 3), False, "retain")
step(torch.randn(2, 3), True, "no")
