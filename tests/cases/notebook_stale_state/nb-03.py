# title: Re-running forward+backward doubles .grad
# kind: notebook_stale_state
# variable: b
# says: b.grad holds 2 backward passes (cell 2 ran twice): 6 instead of 3.
# fix: b.grad = None at the top of cell 2.
# torch: no error, no warning; prints: tensor([3.]) | tensor([6.])
# source: https://yumpu.com/en/document/view/68632516/ (book page: running the notebook cell twice
#     doubles the gradients)

import torch
b = torch.ones(1, requires_grad=True)
# %%
loss = (b * 3).sum()
loss.backward()  #! cause
print(b.grad)  #! symptom
# %% rerun 2

# === fixed
import torch
b = torch.ones(1, requires_grad=True)
# %%
b.grad = None
loss = (b * 3).sum()
loss.backward()
# %% rerun 2

# === check
assert b.grad.item() == 3
