# title: A detach() buried in a pipeline blocks the gradient to the input
# kind: graph_cut
# variable: x
# says: x.grad is None because features() returns a detached tensor (line 2); only enc's
#     parameters are reachable.
# fix: Drop .detach() in features().
# torch: no error, no warning; prints: None
# source: speechbrain/speechbrain#1396

import torch
def features(x): return (x ** 2).detach()  #! cause
x = torch.ones(3, requires_grad=True)
enc = torch.nn.Linear(3, 1)
enc(features(x)).sum().backward()
print(x.grad)  #! symptom
# === fixed
import torch
def features(x): return (x ** 2)
x = torch.ones(3, requires_grad=True)
enc = torch.nn.Linear(3, 1)
enc(features(x)).sum().backward()
print(x.grad)
# === check
assert torch.allclose(x.grad, 2 * enc.weight[0])
