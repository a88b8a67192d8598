# title: A parameter group gets an image that was clamped as it was made
# kind: hidden_leaf
# variable: image
# says: image is the result of clamp, not a leaf.
# raises: ValueError

import torch
net = torch.nn.Linear(2, 2)
def attack(start):
    image = start.clone().requires_grad_(True).clamp(0, 1)  #! cause
    opt = torch.optim.Adam([{"params": net.parameters()}, {"params": [image], "lr": 1e-2}])  #! symptom
    return opt
# %%
attack(torch.rand(1, 2))
