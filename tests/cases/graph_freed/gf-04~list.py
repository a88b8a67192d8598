# title: The losses of an epoch are summed after each was backpropagated
# kind: graph_freed
# variable: total
# says: `total` contains losses whose graphs were freed in the loop.
# fix: Sum first and call backward once.
# raises: RuntimeError

import torch
def epoch(net, data):
    losses = []
    for x in data:
        err = net(x).pow(2).mean()
        err.backward()  #! cause
        losses.append(err)
    return torch.stack(losses).sum()
net = torch.nn.Linear(2, 1)
total = epoch(net, torch.ones(3, 4, 2))
total.backward()  #! symptom
