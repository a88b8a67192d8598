# title: A predicted class is made to require grad to get a loss through
# kind: requires_grad_flag
# variable: guess
# says: argmax gives indices.
# raises: RuntimeError

import torch
net = torch.nn.Linear(3, 4)
# %%
guess = net(torch.ones(2, 3)).argmax(dim=1)  #! cause
guess.requires_grad_(True)  #! symptom
loss = (guess - torch.tensor([1, 2])).abs().sum()
