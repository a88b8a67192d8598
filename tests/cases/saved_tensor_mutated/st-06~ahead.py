# title: The activation is changed in one cell, backward is called in the next
# kind: saved_tensor_mutated
# variable: act
# says: SigmoidBackward0 saved its result `act`, and `act *= 2` changed it; told before backward is called.
# fix: act = act * 2
# raises: RuntimeError

import torch
net = torch.nn.Linear(2, 2)
act = net(torch.ones(3, 2)).sigmoid()
loss = act.mean()
act *= 2  #! cause
# %%
loss.backward()  #! symptom
