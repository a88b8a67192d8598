# title: torch.as_tensor(list of tensors) drops history although as_tensor(one tensor) keeps it
# kind: graph_cut
# variable: vec
# says: as_tensor of a *list* of tensors copies the values; `vec` has no grad_fn.
# fix: torch.stack(scales)
# torch: UserWarning (line 3): Converting a tensor with requires_grad=True to a scalar may lead to
#     unexpected behavior.; RuntimeError (line 4): element 0 of tensors does not require grad and
#     does not have a grad_fn
# source: pytorch/pytorch#155983

import torch
scales = [torch.tensor(float(i), requires_grad=True) for i in range(1, 4)]
vec = torch.as_tensor(scales)  #! cause
vec.norm().backward()  #! symptom
