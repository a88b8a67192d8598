# title: A function makes the weights, and a loop trains them
# kind: hidden_leaf
# variable: w
# says: what the function returns is a view of a leaf without a name.
# raises: TypeError

import torch
def column(n):
    return torch.randn(n, requires_grad=True).reshape(-1, 1)  #! cause
weights = [column(3) for _ in range(2)]
sum(w.sum() for w in weights).backward()
for w in weights:
    w.data -= 0.1 * w.grad  #! symptom
