# title: Auxiliary losses collected with torch.tensor([...]) lose their graph
# kind: graph_cut
# variable: extra
# says: torch.tensor() copied the numbers out of `aux`: `extra` does not require grad, so w.grad
#     misses 2*10.
# fix: torch.stack([aux, aux])
# torch: UserWarning (line 4): Converting a tensor with requires_grad=True to a scalar may lead to
#     unexpected behavior.; prints: tensor([2., 2.])
# source: laekov/fastmoe#49
# note: 2.13 prints a once-per-process UserWarning about converting a requires_grad tensor to a
#     scalar; the wrong gradient itself is silent.

import torch
w = torch.ones(2, requires_grad=True)
main, aux = (w ** 2).sum(), (w * 10).sum()
extra = torch.tensor([aux, aux])  #! cause
(main + extra.sum()).backward()
print(w.grad)  #! symptom
# === fixed
import torch
w = torch.ones(2, requires_grad=True)
main, aux = (w ** 2).sum(), (w * 10).sum()
extra = torch.stack([aux, aux])
(main + extra.sum()).backward()
# === check
assert w.grad.tolist() == [22.0, 22.0]
