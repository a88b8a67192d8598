# title: a full backward hook on modules that work out of place
# kind: view_inplace_forbidden
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1))
seen = []
handles = [m.register_full_backward_hook(lambda m, gi, go: seen.append(len(go))) for m in net]
x = torch.ones(1, 2, requires_grad=True)
net(x).sum().backward()
for handle in handles:
    handle.remove()
