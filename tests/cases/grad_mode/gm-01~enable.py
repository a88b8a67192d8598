# title: Inside no_grad, grad mode is to come back for one line
# kind: grad_mode
# variable: enable_grad()
# says: enable_grad() alone does nothing.

import torch
from torch import enable_grad, no_grad
w = torch.ones(2, requires_grad=True)
with no_grad():
    a = w * 2
    enable_grad()  #! cause
    b = w * 3  #! symptom
assert not b.requires_grad
