# title: as_tensor list + requires_grad=True: backward runs, original tensors get None
# kind: graph_cut
# variable: vec
# says: `vec` is a new leaf (line 4) that is not connected to the knobs.
# fix: vec = torch.stack(knobs) and delete line 4.
# torch: UserWarning (line 3): Converting a tensor with requires_grad=True to a scalar may lead to
#     unexpected behavior.; prints: [None, None] tensor([1., 3.])
# source: lululxvi/deepxde#1318
# note: 2.13 warns once per process about scalar conversion at line 4; a second occurrence in the
#     same session is completely silent.

import torch
knobs = [torch.nn.Parameter(torch.tensor(v)) for v in (0.5, 1.5)]
vec = torch.as_tensor(knobs)  #! cause
vec.requires_grad_()
vec.square().sum().backward()
print([k.grad for k in knobs], vec.grad)  #! symptom
