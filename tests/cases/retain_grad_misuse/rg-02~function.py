# title: The helper keeps the gradient of what was differentiated before
# kind: retain_grad_misuse
# variable: hidden
# says: retain_grad() came after backward.

import torch
def inspect(hidden):
    hidden.retain_grad()  #! cause
    return hidden.grad  #! symptom
lin = torch.nn.Linear(3, 3)
hidden = lin(torch.ones(1, 3)).tanh()
hidden.square().mean().backward()
print(inspect(hidden))
