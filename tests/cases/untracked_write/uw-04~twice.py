# title: It looks alike, but the graph that is kept for a second pass had saved the weights
# kind: untracked_write
# variable: head.weight
# says: head.weight was changed through .data between two passes over one graph that saved it.
# fix: compute the loss anew after the update

import torch
body, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
def losses(x):
    out = head(body(x).tanh())
    return out.mean(), out.square().mean()
for _ in range(2):
    one, two = losses(torch.ones(4, 2))
    one.backward(retain_graph=True)
    head.weight.data.sub_(0.1 * head.weight.grad)  #! cause
    two.backward()  #! symptom
    head.zero_grad()
    body.zero_grad()
