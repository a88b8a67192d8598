# title: In-place on a chunk of LSTM gates
# kind: view_inplace_forbidden
# variable: i
# says: `i` and `f` are sibling views from one chunk() call.
# fix: i = i.sigmoid()
# torch: RuntimeError (line 4): Output 0 of Split is a view and is being modified inplace. This
#     view is the output of a function that returns multiple views. Such functions do not allow
#     the output views to be modified inplace. You should replace the inplace operation by an
#     out-of-place one.
# source: OpenNMT/OpenNMT-py#2303

import torch
gates = torch.ones(1, 8, requires_grad=True) * 1.0
i, f = gates.chunk(2, dim=1)  #! cause
i.sigmoid_()  #! symptom
