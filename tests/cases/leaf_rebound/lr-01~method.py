# title: add() is taken for add_() in a decorated update
# kind: leaf_rebound
# variable: shift
# says: add makes a new tensor.
# raises: AttributeError

import torch
shift = torch.zeros(2, requires_grad=True)
@torch.no_grad()
def update(lr):
    global shift
    shift = shift.add(shift.grad, alpha=-lr)  #! cause
# %%
for _ in range(2):
    (shift - 3).square().sum().backward()
    update(0.1)
    shift.grad.zero_()  #! symptom
