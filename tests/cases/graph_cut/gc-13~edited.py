# title: A weight became a plain number since the cell last ran, and there is no backward yet
# kind: graph_cut
# variable: temp
# says: `temp` reached `total` in the cell's last run; item() makes a number of it.
# fix: without item()

import torch
temp = torch.tensor(2.0, requires_grad=True)
logits = torch.zeros(4, requires_grad=True)
# %%
sharp = temp.exp()
soft = (logits * sharp).softmax(0)
spread = (soft * soft.log()).sum()
total = spread + logits.mean()
# %%
sharp = temp.exp().item()  #! cause symptom
soft = (logits * sharp).softmax(0)
spread = (soft * soft.log()).sum()
total = spread + logits.mean()
