# title: Saliency in a function that is decorated with no_grad
# kind: graph_cut
# variable: score
# says: The decorator of line 3 switches grad mode off for all of evaluate.
# fix: delete the decorator

import torch
net = torch.nn.Linear(3, 2)
@torch.no_grad()  #! cause
def evaluate(x):
    x = x.clone().requires_grad_()
    score = net(x).max()
    score.backward()  #! symptom
    return x.grad
evaluate(torch.ones(1, 3))
