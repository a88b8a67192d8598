# title: The hidden states that are read in a loop never had a name
# kind: nonleaf_grad_read
# variable: h
# says: the elements of the list are computed; retain the gradient of each before backward.
# fix: for step, h in enumerate(hidden): h.retain_grad(), before backward

import torch
start = torch.ones(3, requires_grad=True)
hidden = [start]
for _ in range(2):
    hidden.append(torch.tanh(hidden[-1]))  #! cause
hidden[-1].sum().backward()
for step, h in enumerate(hidden):
    print(step, h.grad)  #! symptom
