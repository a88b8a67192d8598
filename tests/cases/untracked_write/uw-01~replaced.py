# title: A weight gets other memory while a graph of it is waiting
# kind: untracked_write
# variable: w
# says: A leaf is saved as it is, so that backward uses the new values.
# fix: Assign after backward.

import torch
w = torch.tensor([2.], requires_grad=True)
loss = (w * w).sum()
w.data = torch.tensor([5.])  #! cause
loss.backward()  #! symptom
