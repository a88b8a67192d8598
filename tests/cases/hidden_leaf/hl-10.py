# title: nn.Parameter looks redundant: torch.randn(..., requires_grad=True) * 0.01 passed around
#     as the weight
# kind: hidden_leaf
# variable: W1
# says: `W1` is a non-leaf from the start (line 2); W1.grad is None at line 7.
# fix: W1 = torch.nn.Parameter(torch.randn(4, 2) * 0.01)
# torch: UserWarning (line 7): The .grad attribute of a Tensor that is not a leaf Tensor is being
#     accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed
#     want the .grad field to be populated for a non-leaf Tensor, us; TypeError (line 7):
#     unsupported operand type(s) for *: 'float' and 'NoneType'
# source: d2l-ai/d2l-en#1713

import torch
W1 = torch.randn(4, 2, requires_grad=True) * 0.01  #! cause
lr = 0.1
for step in range(2):
    (torch.ones(1, 4) @ W1).sum().backward()
    with torch.no_grad():
        W1 -= lr * W1.grad  #! symptom
