# title: The pass runs in a function that an earlier cell defined
# kind: notebook_stale_state
# variable: a

import torch
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
# %%
for k in range(2):
    loss = (a * b).sum() * (k + 1)
    loss.backward()  #! cause
a.grad, b.grad  #! symptom
# %%
print("a look at something else")
# %% rerun 2
