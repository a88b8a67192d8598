# title: Outputs appended to a list with their graphs
# kind: memory_retention
# variable: outs
# says: 3 tensors in `outs` hold graphs (about 3 x 4 kB of saved activations here).
# fix: outs.append(y.detach())
# torch: no error, no warning; prints: [True, True, True]
# source: sktime/pytorch-forecasting#1924

import torch
w = torch.ones(1000, requires_grad=True)
outs = []
for _ in range(3):
    outs.append(torch.exp(w).sum())  #! cause
print([o.grad_fn is not None for o in outs])  #! symptom
