# title: Filled with zeros, in a loop: momentum and decay are all that is left
# kind: grad_accumulation
# variable: sgd

import torch
v = torch.nn.Parameter(torch.ones(3))
sgd = torch.optim.SGD([v], lr=0.1)
for x in torch.eye(3):
    (v * x).sum().backward()
    sgd.zero_grad(set_to_none=False)  #! cause
    sgd.step()  #! symptom
