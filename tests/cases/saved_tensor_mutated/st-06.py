# title: In-place residual add on an activation that exp() saved
# kind: saved_tensor_mutated
# variable: a
# says: ExpBackward0 saved its output `a`; `a += 1` changed it.
# fix: a = a + 1
# torch: RuntimeError (line 5): one of the variables needed for gradient computation has been
#     modified by an inplace operation: [torch.FloatTensor [2]], which is output 0 of Exp, is at
#     version 1; expected version 0 instead. Hint: enable anomaly detection to find the operation
#     that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True,
#     check_nan=False).
# source: pyg-team/pytorch_geometric#7283

import torch
h = torch.zeros(2, requires_grad=True)
a = torch.exp(h)
a += 1  #! cause
a.sum().backward()  #! symptom

# === fixed
import torch
h = torch.zeros(2, requires_grad=True)
a = torch.exp(h)
a = a + 1
a.sum().backward()
# === check
assert h.grad.tolist() == [1., 1.]
