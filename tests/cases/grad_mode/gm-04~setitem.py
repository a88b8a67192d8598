# title: Predictions of inference mode are masked by a subscript
# kind: grad_mode
# variable: preds
# says: preds was made in inference mode.
# raises: RuntimeError

import torch
net = torch.nn.Linear(2, 3)
# %%
with torch.inference_mode():
    preds = net(torch.ones(4, 2)).softmax(-1)  #! cause
mask = torch.tensor([True, False, True, False])
preds[mask] = 0.  #! symptom
