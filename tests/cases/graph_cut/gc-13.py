# title: loss rebuilt from Python numbers
# kind: graph_cut
# variable: total
# says: `.item()` at line 5 turned the loss into a Python float; line 6 makes a constant.
# fix: Accumulate tensors (total = total + (w*x).sum()) for the loss and .item() only for logging.
# torch: RuntimeError (line 6): element 0 of tensors does not require grad and does not have a
#     grad_fn
# source: pytorch/pytorch#19806

import torch
w = torch.ones(2, requires_grad=True)
total = 0.
for x in (1., 2.):
    total += (w * x).sum().item()  #! cause
torch.tensor(total).backward()  #! symptom
# === fixed
import torch
w = torch.ones(2, requires_grad=True)
total = 0.
for x in (1., 2.):
    total += (w * x).sum()
total.backward()
# === check
assert w.grad.tolist() == [3.0, 3.0]
