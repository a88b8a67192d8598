# title: A function switched grad mode off, and the loss comes from yet another cell
# kind: grad_mode
# variable: loss
# says: grad mode has been off since line 3, and so it was when the loss was computed.
# fix: torch.set_grad_enabled(True), and the cell of the loss again
# raises: RuntimeError

import torch
def score(model, x):
    torch.set_grad_enabled(mode=False)  #! cause
    return float(model(x).sum())
w = torch.nn.Parameter(torch.ones(3))
print(score(lambda x: w * x, torch.ones(3)))
# %%
loss = (w * 2).sum()
# %%
loss.backward()  #! symptom
# %%
torch.set_grad_enabled(True)
