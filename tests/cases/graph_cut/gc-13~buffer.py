# title: A buffer that is filled with numbers
# kind: graph_cut
# variable: out
# says: item() makes numbers of what is put into out.
# fix: without item()

import torch
w = torch.ones(3, requires_grad=True)
out = torch.zeros(3)
for i in range(3):
    out[i] = (w[i] * 2).item()  #! cause
out.sum().backward()  #! symptom
