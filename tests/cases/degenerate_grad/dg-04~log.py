# title: log of what is not positive in the branch that where() does not take
# kind: degenerate_grad
# variable: x
# says: The gradient that comes back for the other branch is 0, but 0 * inf is nan.
# fix: Make the argument safe inside where().

import torch
def soft_log(v):
    safe = torch.where(v > 0, torch.log(v), v - 1)  #! cause
    return safe
x = torch.tensor([0., 1., 2.], requires_grad=True)
gradient, = torch.autograd.grad(soft_log(x).sum(), x)  #! symptom
