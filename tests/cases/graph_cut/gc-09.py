# title: A getter that returns .data even when asked not to detach
# kind: graph_cut
# variable: p
# says: `p` is used only through .data (line 3), which is invisible to autograd.
# fix: return [p.detach() if detach else p]
# torch: no error, no warning; prints: None
# source: arthur-pe/slicetca#3

import torch
p = torch.nn.Parameter(torch.ones(2))
def components(detach=False): return [p.data]  #! cause
loss = (components()[0] * torch.ones(2, requires_grad=True)).sum()
loss.backward()
print(p.grad)  #! symptom
