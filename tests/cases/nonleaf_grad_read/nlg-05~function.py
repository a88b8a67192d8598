# title: A function halves what its caller retained
# kind: nonleaf_grad_read
# variable: state
# says: state.grad is that of the newest value.

import torch
def damp(state):
    state.mul_(0.5)  #! cause
    return state
w = torch.rand(2, 2, requires_grad=True)
state = w @ w
state.retain_grad()
damp(state).sum().backward()
print(state.grad)  #! symptom
