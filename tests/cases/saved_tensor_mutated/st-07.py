# title: Writing through .detach() (shares memory and version counter)
# kind: saved_tensor_mutated
# variable: shared
# says: `shared` is the same storage as `y` (detach makes no copy); filling it at line 5 destroyed
#     the value TanhBackward0 saved.
# fix: shared = y.detach().clone()
# torch: RuntimeError (line 6): one of the variables needed for gradient computation has been
#     modified by an inplace operation: [torch.FloatTensor [2]], which is output 0 of Tanh, is at
#     version 1; expected version 0 instead. Hint: enable anomaly detection to find the operation
#     that failed to compute its gradient, with torch.autograd.set_detect_anomaly(True,
#     check_nan=False).
# source: pytorch/pytorch#6990

import torch
x = torch.tensor([0.5, -0.5], requires_grad=True)
y = x.tanh()
shared = y.detach()
shared.fill_(9.)  #! cause
y.sum().backward()  #! symptom
