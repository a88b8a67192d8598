# title: An evaluation function begins with the call alone
# kind: grad_mode
# variable: torch.no_grad()
# says: the context manager is thrown away; grad mode is still on.

import torch
def evaluate(model, batches):
    model.eval()
    torch.no_grad()  #! cause
    total = 0.
    for batch in batches:
        total = total + model(batch).sum()
    return total
# %%
score = evaluate(torch.nn.Linear(2, 1), [torch.ones(1, 2)] * 3)
print(score.requires_grad)  #! symptom

# === fixed
import torch
def evaluate(model, batches):
    model.eval()
    with torch.no_grad():
        total = 0.
        for batch in batches:
            total = total + model(batch).sum()
    return total
# %%
score = evaluate(torch.nn.Linear(2, 1), [torch.ones(1, 2)] * 3)
print(score.requires_grad)

# === check
assert not score.requires_grad
