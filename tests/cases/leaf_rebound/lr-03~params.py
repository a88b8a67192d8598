# title: All gradients are zeroed in place before there are any
# kind: leaf_rebound
# variable: p
# says: p.grad is None until the first backward.
# raises: AttributeError

import torch
net = torch.nn.Linear(2, 1)
def clear(params):
    for p in params:
        p.grad.zero_()  #! cause symptom
for _ in range(2):
    clear(net.parameters())
    net(torch.ones(1, 2)).sum().backward()
