# title: hooks that look at the output, or at shapes only
# kind: hook_surprise
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True))
shapes, outs = [], []
def sizes(module, inp, out):
    x = inp[0]
    shapes.append((x.shape, inp[0].numel(), len(inp)))
for layer in net:
    layer.register_forward_hook(sizes)
    layer.register_forward_hook(lambda mod, inp, out: outs.append(out.detach().clone()))
net(torch.ones(1, 2)).sum().backward()
