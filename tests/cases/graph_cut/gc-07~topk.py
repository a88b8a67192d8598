# title: A loss over the chosen class only
# kind: graph_cut
# variable: best
# says: the index that max gives is an integer: no gradient flows through it.
# fix: softmax

import torch
def choice(scores):
    best = scores.max(dim=1).indices.to(torch.float32)  #! cause
    return best
net = torch.nn.Linear(3, 4)
out = choice(net(torch.ones(2, 3)))
torch.nn.functional.mse_loss(out, torch.zeros(2)).backward()  #! symptom
