# title: torch.no_grad() called without `with`
# kind: grad_mode
# variable: torch.no_grad()
# says: Line 2 creates a context manager and throws it away; grad mode is still on.
# fix: with torch.no_grad(): ... (or torch.set_grad_enabled(False))
# torch: no error, no warning; prints: True
# source: kuprel/min-dalle#24

import torch
torch.no_grad()  #! cause
w = torch.ones(1, requires_grad=True)
print((w * 2).requires_grad)  #! symptom
