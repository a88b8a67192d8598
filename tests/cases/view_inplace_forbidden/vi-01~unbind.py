# title: unbind in a comprehension, written later
# kind: view_inplace_forbidden
# variable: first
# raises: RuntimeError

import torch
h = torch.randn(3, 4, requires_grad=True).exp()
rows = list(h.unbind(0))  #! cause
first = rows[0]
# %%
first.clamp_(max=1.0)  #! symptom
