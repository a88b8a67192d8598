# title: complex values copied into a real buffer
# kind: backward_contract
# variable: out

import torch
def energy(z):
    out = torch.zeros(3)
    out.copy_(z * 2)  #! cause
    return out.pow(2).sum()
z = torch.ones(3, dtype=torch.cfloat, requires_grad=True)
energy(z).backward()
print(z.grad)  #! symptom
