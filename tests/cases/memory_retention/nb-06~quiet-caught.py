# title: The error is caught; nothing holds its frame
# kind: memory_retention
# quiet: true

import torch
def risky():
    act = torch.ones(100, requires_grad=True).exp()
    raise RuntimeError("oops")
# %%
try:
    risky()
except RuntimeError as error:
    print(error)
# %%
print("done")
