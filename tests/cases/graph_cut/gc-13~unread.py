# title: A weight is turned into a number, and only the other gradient is shown
# kind: graph_cut
# variable: alpha
# says: `alpha` gets no gradient: item makes a plain number of it.
# fix: a = alpha.sigmoid()

import torch
alpha = torch.nn.Parameter(torch.tensor(0.3))
beta = torch.nn.Parameter(torch.tensor(2.))
# %%
a = alpha.sigmoid().item()  #! cause
loss = a * beta ** 2 + (1 - a) * beta
loss.backward()
print(beta.grad)  #! symptom
