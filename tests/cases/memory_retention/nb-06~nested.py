# title: An error of torch in a helper of a helper
# kind: memory_retention
# variable: feats
# says: The frame of outer, held by the last error, owns `feats`.
# fix: sys.last_value = sys.last_traceback = None
# raises: RuntimeError

import torch
def outer(w):
    feats = (w * 3).cos()  #! cause
    return inner(feats)
def inner(t):
    return t @ torch.ones(7, 7)
w = torch.ones(20, requires_grad=True)
# %%
res = outer(w)
# %%
w = torch.ones(7, requires_grad=True)
print(w.sum())  #! symptom
