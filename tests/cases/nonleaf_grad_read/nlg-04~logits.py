# title: The gradient of the logits, in the cell after the training
# kind: nonleaf_grad_read
# variable: logits
# says: logits is computed; retain_grad() before backward.
# fix: logits.retain_grad()

import torch
table = torch.nn.Embedding(10, 4)
head = torch.nn.Linear(4, 3, bias=False)
# %%
ids, target = torch.tensor([1, 5, 7]), torch.tensor([0, 2, 1])
vectors, logits = (v := table(ids)), head(v)  #! cause
torch.nn.functional.cross_entropy(logits, target).backward()
print("saliency", logits.grad)  #! symptom

# === fixed
import torch
table = torch.nn.Embedding(10, 4)
head = torch.nn.Linear(4, 3, bias=False)
# %%
ids, target = torch.tensor([1, 5, 7]), torch.tensor([0, 2, 1])
vectors, logits = (v := table(ids)), head(v)
logits.retain_grad()
torch.nn.functional.cross_entropy(logits, target).backward()
print("saliency", logits.grad)

# === check
assert logits.grad.shape == (3, 3)
