# title: Gradients of a list of activations are set to zero in a loop
# kind: nonleaf_grad_read
# variable: act
# says: act is computed; the zeros are not added to.

import torch
w = torch.rand(3, requires_grad=True)
acts = [w.exp(), w.sin(), w ** 3]
for act in acts:
    act.grad = torch.zeros_like(act)  #! cause
sum(a.sum() for a in acts).backward()
for n, act in enumerate(acts):
    print(n, act.grad)  #! symptom
