# title: Activations of the newest step are kept by hooks
# kind: memory_retention
# quiet: true

import torch
net = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(4)])
acts = {}
def keep(name):
    def hook(module, args, out):
        acts[name] = out
    return hook
for name, part in net.named_children():
    part.register_forward_hook(keep(name))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(5, 3, 2):
    opt.zero_grad()
    net(x).sum().backward()
    opt.step()
