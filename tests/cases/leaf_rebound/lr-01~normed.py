# title: An input is normalised in a function that returns its gradient
# kind: leaf_rebound
# variable: x
# says: this line computes a new tensor, and `x` no longer names the leaf
# fix: x2 = (x - x.mean(0)) / x.std(0), and x2 below

import torch
def saliency(n, net):
    x = torch.randn(n, 3, requires_grad=True)
    x = (x - x.mean(0)) / x.std(0)  #! cause
    loss = net(x).pow(2).sum()
    loss.backward()
    return x.grad  #! symptom
saliency(4, torch.nn.Linear(3, 1))
