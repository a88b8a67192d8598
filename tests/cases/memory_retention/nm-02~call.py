# title: The last expression is a call that returns a computed tensor
# kind: memory_retention
# variable: score
# says: Results of score(value) are held by Out, with their graphs.
# fix: score(value).item()
# torch: no error, no warning

import torch
w = torch.ones(10, requires_grad=True)
def score(k):
    return (w * k).sin().sum()
# %%
value = 3
score(value)  #! cause
# %% rerun 2
# %% rerun 2
# %%
print(len(Out))  #! symptom
