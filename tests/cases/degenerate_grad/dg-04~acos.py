# title: The angle between two unit vectors that are the same
# kind: degenerate_grad
# variable: u
# says: acos has no finite derivative at 1.
# fix: Clamp the cosine a little inside of -1 and 1.

import torch
u = torch.tensor([1., 0.], requires_grad=True)
v = torch.tensor([1., 0.])
cosine = (u * v).sum()
angle = torch.acos(cosine.clamp(-1, 1))  #! cause
angle.backward()  #! symptom
