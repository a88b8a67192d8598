# title: retain_graph=True used to silence 'second time' only moves the failure
# kind: saved_tensor_mutated
# variable: h
# says: `h` carries the previous step's graph into this one; the optimizer has already changed the
#     weights that graph saved.
# fix: h = h.detach() at the top of each step and plain backward().
# torch: RuntimeError (line 7): one of the variables needed for gradient computation has been
#     modified by an inplace operation: [torch.FloatTensor [2, 2]], which is output 0 of
#     AsStrided, is at version 3; expected version 2 instead. Hint: enable anomaly detection to
#     find the operation that failed to compute its gradient, with
#     torch.autograd.set_detect_anomaly(True, check_nan=False).
# source: quark0/darts#56
# note: Real cause is carried_state; retain_graph is the red herring. With only 2 steps it does
#     not raise (the step-1 graph never needs W_hh) and the gradients are silently mixed.

import torch
cell = torch.nn.RNNCell(2, 2)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(1, 2)
for _ in range(3):
    h = cell(torch.ones(1, 2), h)  #! cause
    h.sum().backward(retain_graph=True)  #! symptom
    opt.step()

# === fixed
import torch
cell = torch.nn.RNNCell(2, 2)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(1, 2)
for _ in range(3):
    h = h.detach()
    h = cell(torch.ones(1, 2), h)
    opt.zero_grad()
    h.sum().backward()
    opt.step()
