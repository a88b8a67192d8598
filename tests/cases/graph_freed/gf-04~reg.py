# title: A loss that was backpropagated is part of the next one
# kind: graph_freed
# variable: both
# says: `both` contains `fit`, whose graph was freed at line 4.
# fix: both.backward() alone.
# raises: RuntimeError

import torch
w = torch.ones(3, requires_grad=True)
fit = (w - 2).pow(2).sum()
fit.backward()  #! cause
both = fit + 0.1 * w.abs().sum()
both.backward()  #! symptom
