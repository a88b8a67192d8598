# title: A layer saved a batch with fewer axes; the batch is scaled two cells before backward
# kind: saved_tensor_mutated
# variable: batch
# says: The layer of cell 1 saved `batch`; mul_ changed it in place.
# fix: batch = batch * 0.5
# raises: RuntimeError

import torch
layer = torch.nn.Linear(3, 3)
batch = torch.ones(2, 4, 3)
seen = layer(batch)
# %%
batch.mul_(0.5)  #! cause
# %%
kept = seen.detach().mean()
# %%
error = (seen - kept).abs().sum()
error.backward()  #! symptom
