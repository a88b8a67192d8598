# title: A closure that does not clear
# kind: grad_accumulation
# variable: a

import torch
a = torch.nn.Parameter(torch.tensor([2.0, -1.0]))
opt = torch.optim.SGD([a], lr=0.05)

def closure():
    loss = (a ** 4).sum()
    loss.backward()  #! cause
    return loss

for _ in range(4):
    opt.step(closure)  #! symptom
