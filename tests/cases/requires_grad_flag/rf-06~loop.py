# title: Hidden states are to be leaves, one after another
# kind: requires_grad_flag
# variable: state
# says: requires_grad_() does not make a leaf of what was computed.

import torch
cell = torch.nn.RNNCell(2, 2)
state = torch.zeros(1, 2)
for t in range(3):
    state = cell(torch.ones(1, 2), state)
    state.requires_grad_(True)  #! cause
state.sum().backward()
print(state.is_leaf)  #! symptom
