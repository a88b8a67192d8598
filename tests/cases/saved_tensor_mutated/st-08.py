# title: Buffer refreshed between two forwards of the same module (what DDP does to BatchNorm
#     stats)
# kind: saved_tensor_mutated
# variable: buf
# says: `buf` was saved by the multiplication at line 4 and overwritten at line 5 before backward.
# fix: Use buf.clone() in forward; for DDP: broadcast_buffers=False or one forward on the
#     concatenated batch.
# torch: RuntimeError (line 7): one of the variables needed for gradient computation has been
#     modified by an inplace operation: [torch.FloatTensor [2]] is at version 1; expected version
#     0 instead. Hint: enable anomaly detection to find the operation that failed to compute its
#     gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False).
# source: pytorch/pytorch#22095
# note: Single-process emulation of the buffer broadcast.

import torch
lin, buf = torch.nn.Linear(2, 2), torch.ones(2)
x = torch.ones(1, 2)
l1 = (lin(x) * buf).sum()
buf.copy_(torch.zeros(2))  #! cause
l2 = (lin(x) * buf).sum()
(l1 + l2).backward()  #! symptom
