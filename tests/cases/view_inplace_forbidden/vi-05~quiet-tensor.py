# title: a tensor hook from a forward hook goes with in-place modules
# kind: view_inplace_forbidden
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True))
seen = []
def watch(module, inp, out):
    out.register_hook(lambda g: seen.append(g.norm().item()))
for module in net:
    module.register_forward_hook(watch)
net(torch.ones(1, 2)).sum().backward()
