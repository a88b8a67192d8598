# title: The gradient is read by way of another form of the weight, in a function
# kind: nonleaf_grad_read
# variable: t.flatten()
# says: flatten makes a new tensor each time; the leaf has the gradient.
# fix: t.grad.flatten()

import torch
def norms(tensors):
    total = 0.
    for t in tensors:
        flat = t.flatten().grad  #! cause symptom
        if flat is not None:
            total += flat.norm().item()
    return total
w = torch.ones(2, 3, requires_grad=True)
(w * 2).sum().backward()
norms([w])
