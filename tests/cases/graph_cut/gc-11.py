# title: new_tensor(out, requires_grad=True) used as if it were out
# kind: graph_cut
# variable: logits
# says: new_tensor() copies and starts a new leaf; the student is not connected.
# fix: Use `out` itself (or out.clone()).
# torch: UserWarning (line 4): To copy construct from a tensor, it is recommended to use
#     sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), rather
#     than tensor.new_tensor(sourceTensor).; prints: None
# source: IntelLabs/distiller#234
# note: torch warns 'To copy construct from a tensor' but not that the graph is cut.

import torch
student = torch.nn.Linear(2, 2)
out = student(torch.ones(1, 2))
logits = out.new_tensor(out, requires_grad=True)  #! cause
logits.sum().backward()
print(student.weight.grad)  #! symptom
