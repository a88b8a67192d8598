# title: Gradient needed inside an evaluation step that runs under no_grad
# kind: graph_cut
# variable: model(x)
# says: The forward at line 3 ran under the no_grad of line 4, so no graph exists.
# fix: with torch.enable_grad(): inside test_step (inference_mode must be off).
# torch: RuntimeError (line 5, inside line 3): element 0 of tensors does not require grad and does
#     not have a grad_fn
# source: Lightning-AI/pytorch-lightning#19910

import torch
model = torch.nn.Linear(2, 1)
def test_step(x): return model(x).sum().backward()  #! symptom
with torch.no_grad():  #! cause
    test_step(torch.ones(1, 2))
