# title: The gradient gets a name after the clearing, and is used a line later
# kind: grad_accumulation
# variable: layer.weight
# raises: AttributeError

import torch
layer = torch.nn.Linear(3, 2)
adam = torch.optim.Adam(layer.parameters())
layer(torch.ones(1, 3)).sum().backward()
adam.step()
adam.zero_grad()  #! cause
g = layer.weight.grad
print(g.norm())  #! symptom
