# title: A function that reports norms is called after the clearing
# kind: grad_accumulation
# variable: p
# raises: AttributeError

import torch

def norms(net):
    total = 0.0
    for p in net.parameters():
        total += p.grad.norm().item()  #! symptom
    return total

net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    net(torch.ones(1, 2)).mean().backward()
    opt.step()
    net.zero_grad()  #! cause
    norms(net)
