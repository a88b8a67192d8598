# title: One element is set through .data inside a function, before the loss is used
# kind: untracked_write
# variable: h
# says: TanhBackward0 saved `h`, and its memory was changed behind autograd's back.
# fix: Write to a copy.

import torch
def forward(x):
    h = torch.tanh(x)
    h.data[0] = 5.  #! cause
    return h.sum()
x = torch.ones(2, requires_grad=True)
loss = forward(x)
loss.backward()  #! symptom
