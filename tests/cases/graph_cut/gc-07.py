# title: Loss built from argmax
# kind: graph_cut
# variable: coord
# says: argmax returns integers: no gradient can flow, and .float() does not bring it back.
# fix: Use a soft-argmax: (logits.softmax(1) * torch.arange(3.)).sum(1).
# torch: RuntimeError (line 4): element 0 of tensors does not require grad and does not have a
#     grad_fn
# source: LZGMatrix/BOP19_CDPN_2019ICCV#4

import torch
logits = torch.ones(2, 3, requires_grad=True)
coord = torch.argmax(logits, dim=1).float()  #! cause
((coord - 1.) ** 2).sum().backward()  #! symptom
