# title: Features were detached in the cell before
# kind: graph_cut
# variable: enc.weight
# says: z was detached in the first cell.
# fix: z = enc(torch.ones(4, 2))

import torch
enc, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
z = enc(torch.ones(4, 2)).detach()  #! cause
# %%
head(z).mean().backward()
print(enc.weight.grad, enc.bias.grad)  #! symptom
