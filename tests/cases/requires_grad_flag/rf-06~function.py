# title: A helper asks its argument to require grad, and it is computed
# kind: requires_grad_flag
# variable: z
# says: z requires grad already, and stays computed.

import torch
def influence(z, target):
    z.requires_grad_()  #! cause
    (z - target).square().sum().backward()
    return z.retains_grad
enc = torch.nn.Linear(2, 3)
print(influence(enc(torch.ones(1, 2)), torch.zeros(3)))  #! symptom
