# title: The update stands in a helper that returns the new value
# kind: leaf_rebound
# variable: value
# says: the caller's name stands for a computed tensor after the first step; update value in
#     place.
# raises: TypeError

import torch
def descend(value, rate):
    return value - rate * value.grad  #! cause
theta = torch.zeros(2, requires_grad=True)
for i in range(3):
    loss = (theta - torch.ones(2)).pow(2).sum()
    loss.backward()
    theta = descend(theta, 0.1)  #! symptom
