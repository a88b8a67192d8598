# title: The second backward is in another cell than the first, in a function
# kind: notebook_stale_state
# variable: cost
# says: `cost` was backpropagated in an earlier cell.
# fix: Run cell 2 again first.
# raises: RuntimeError

import torch
def build():
    w = torch.ones(3, requires_grad=True)
    return w, w.exp().sum()  #! cause
# %%
w, cost = build()
# %%
cost.backward()
# %%
def again():
    w.grad = None
    cost.backward()  #! symptom
again()
