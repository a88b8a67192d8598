# title: The mean of the losses' numbers is multiplied by a one that requires grad
# kind: graph_cut
# variable: net.weight
# says: item() makes plain numbers, and backward reaches `one` only.
# fix: torch.stack(losses).mean(), without item() and the factor.

import torch
def total(losses):
    one = torch.ones(1, requires_grad=True)
    return sum(l.item() for l in losses) / len(losses) * one  #! cause
net = torch.nn.Linear(3, 1)
losses = [net(torch.full((2, 3), scale)).pow(2).mean() for scale in (1., 2.)]
loss = total(losses)
loss.backward()  #! symptom
