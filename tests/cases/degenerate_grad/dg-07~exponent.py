# title: A clamp in front of exp, with every element beyond it, inside a function
# kind: degenerate_grad
# variable: log_rate
# says: All elements of `log_rate` lie outside the bounds of the clamp, and get no gradient.
# fix: clamp only what is shown, or clamp the leaf after each step under no_grad

import torch
log_rate = torch.nn.Parameter(torch.full((4,), 3.))
def nll(counts):
    rate = log_rate.clamp(-1, 1).exp()  #! cause
    return (rate - counts * rate.log()).mean()
for _ in range(2):
    nll(torch.ones(4)).backward()  #! symptom
