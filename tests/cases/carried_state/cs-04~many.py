# title: Many steps in a function
# kind: carried_state
# variable: s
# says: `s` keeps the graph of all the steps before.
# fix: s = s.detach()
# torch: no error, no warning

import torch
def train(w, steps):
    s = torch.zeros(3)
    for _ in range(steps):
        s = s * 0.5 + torch.cos(w * s)  #! cause
        err = (s - 1).pow(2).sum()
        err.backward(retain_graph=True)  #! symptom
        w.grad.zero_()
    return err.item()
train(torch.ones(3, requires_grad=True), 30)
